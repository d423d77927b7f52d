"""What a model does, as a list of small steps from a matrix of numbers to the next: the language of exports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoding.projection import LIMIT, STEP, VALUE_LIMIT, VALUE_STEP
from mapl.data.moments import feature_map as moments
from mapl.students.probabilities.scores import LEAST
from mapl.types import Floats

SINGLE, PROJECT, FEATURE_MAP, LINEAR, ABOVE = "single", "project", "feature map", "linear", "above"
RELU, KERNEL, TREES, VOTES, SOFTMAX = "relu", "kernel", "trees", "votes", "softmax"
SCALE, CUT = "scale", "cut"


@dataclass(frozen=True, slots=True, eq=False)
class ModelStep:
    """One step: its name, and the arrays and numbers that it works with."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        return {"step": self.name, **{name: _plain(value) for name, value in self.values.items()}}


Steps = tuple[ModelStep, ...]


def single() -> ModelStep:
    """Round every number to 32 bits."""
    return ModelStep(SINGLE)


def project(mean: NDArray[Any], axes: NDArray[Any]) -> ModelStep:
    """Round to a grid, subtract a mean, multiply by axes and round to a grid again."""
    grids = {"step": STEP, "limit": LIMIT, "value_step": VALUE_STEP, "value_limit": VALUE_LIMIT}
    # Not "step": a record is named by that.
    return ModelStep(PROJECT, {"mean": doubles(mean), "axes": doubles(axes), "grid": grids.pop("step"), **grids})


def map_features(turn: NDArray[Any]) -> ModelStep:
    """Round to a grid, add a constant, multiply by a matrix and scale every row to one norm."""
    bits = min(moments.NORM_BITS, (moments.SUM_BITS - int(np.ceil(np.log2(max(1, turn.shape[1]))))) // 2)
    values = {"limit": moments.LIMIT, "steps": float(1 << moments.STEP_BITS), "bits": bits}
    norm = moments.UNIT * moments.MARGIN
    return ModelStep(FEATURE_MAP, {"turn": doubles(turn), "norm": norm, "unit": float(moments.UNIT), **values})


def linear(weights: Any, offsets: Any) -> ModelStep:
    """Multiply by weights, one line per number, and add offsets."""
    return ModelStep(LINEAR, {"weights": doubles(weights), "offsets": doubles(offsets)})


def above(threshold: float) -> ModelStep:
    """Give 1 where a number is above a threshold, 0 elsewhere."""
    return ModelStep(ABOVE, {"threshold": float(threshold)})


def relu() -> ModelStep:
    return ModelStep(RELU)


def kernel(anchors: Any, dual: Any, rate: float, offsets: Any) -> ModelStep:
    """Add up Gaussian kernels exp(-rate * squared distance) around anchors."""
    return ModelStep(
        KERNEL,
        {"anchors": doubles(anchors), "dual": doubles(dual), "rate": float(rate), "offsets": doubles(offsets)},
    )


def votes(members: list[Steps]) -> ModelStep:
    """Let members vote for the place of their largest number, the first of equal ones."""
    return ModelStep(VOTES, {"members": members})


def softmax() -> ModelStep:
    return ModelStep(SOFTMAX)


def scale(slope: float, offsets: Any) -> ModelStep:
    """Take logarithms of probabilities, count from their mean, multiply, add offsets, and take the softmax."""
    return ModelStep(SCALE, {"least": LEAST, "slope": float(slope), "offsets": doubles(offsets)})


def cut(low: float, high: float) -> ModelStep:
    """Cut numbers off at two ends."""
    return ModelStep(CUT, {"low": float(low), "high": float(high)})


def doubles(array: Any) -> Floats:
    return np.asarray(array, dtype=np.float64)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):  # the members of a vote
        return [[step.to_record() for step in member] for member in value]
    return value
