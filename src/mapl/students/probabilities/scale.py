"""Scores turned into probabilities by one slope and an offset for each class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mapl.errors import InvalidData
from mapl.types import Floats


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """A slope for all scores, and what is added to the score of each class; public numbers of a student."""

    slope: float
    offsets: tuple[float, ...]

    def __call__(self, scores: Floats) -> Floats:
        """Return a probability for each row and class."""
        from scipy.special import softmax

        return np.asarray(softmax(self.slope * scores + np.array(self.offsets), axis=1))

    def to_record(self) -> dict[str, Any]:
        return {"slope": self.slope, "offsets": list(self.offsets)}

    @classmethod
    def of_record(cls, record: Any, n_classes: int) -> Self | None:
        """Read it from a student file; older ones have none."""
        if record is None:
            return None
        slope, offsets = float(record["slope"]), tuple(map(float, record["offsets"]))
        if len(offsets) != n_classes or not all(map(math.isfinite, (slope, *offsets))):
            raise InvalidData(
                f"The student file has {len(offsets)} offsets for {n_classes} classes, or some that are no "
                "numbers; it is damaged or forged. Do not use it."
            )
        return cls(slope, offsets)
