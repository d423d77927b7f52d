"""Teachers that are trees of some kind: few questions are asked of all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.estimator import FittedEstimator
from mapl.teachers.panel.models import ModelPanel
from mapl.teachers.panel.panel import count_votes
from mapl.teachers.panel.stacked_boosting import StackedBoosting, StackedGradients
from mapl.teachers.panel.stacked_trees import StackedTrees
from mapl.types import Tallies

Stack = StackedTrees | StackedBoosting
KINDS: tuple[type[Stack], ...] = (StackedTrees, StackedBoosting, StackedGradients)


@dataclass(frozen=True, slots=True, repr=False)
class TreePanel:
    """Trees that few questions are asked together; all else is asked teacher by teacher. Private.

    Many questions are not asked together, since scikit-learn walks faster once it is on its way. How many are is a
    constant of each kind of model.
    """

    stack: Stack
    panel: ModelPanel

    @property
    def n_teachers(self) -> int:
        return self.panel.n_teachers

    @property
    def n_classes(self) -> int:
        return self.panel.n_classes

    def votes(self, rows: Any) -> Tallies:
        """Count the votes on prepared rows."""
        if type(rows) is not np.ndarray or rows.dtype.kind != "f" or rows.ndim != 2:
            return self.panel.votes(rows)
        models = [k for k, model in enumerate(self.panel.models) if model is not None]
        first = self.panel.models[models[0]]
        fits = isinstance(first, FittedEstimator) and rows.shape[1] == first.estimator.n_features_in_
        if not fits or len(rows) > self.stack.most_together:
            return self.panel.votes(rows)
        with np.errstate(all="ignore"):
            numbers = np.ascontiguousarray(rows, dtype=self.stack.numbers)
            whole = np.isfinite(numbers).all(axis=1) | self.stack.takes_gaps
            if not whole.any():
                return self.panel.votes(rows)
            votes = np.full((int(np.count_nonzero(whole)), self.n_teachers), FALLBACK, dtype=np.int64)
            votes[:, models] = self.stack.votes(numbers[whole])
        counts = np.empty((len(rows), self.n_classes), dtype=np.int32)
        counts[whole] = count_votes(votes, self.n_classes).counts
        if not whole.all():
            counts[~whole] = self.panel.votes(rows[~whole]).counts
        return Tallies.checked(counts)

    def __repr__(self) -> str:
        return f"TreePanel({self.n_teachers} teachers, private)"


def stack_trees(panel: ModelPanel) -> ModelPanel | TreePanel:
    """Return a panel that asks trees together, where all its models are of one kind of them."""
    models = [model for model in panel.models if model is not None]
    fitted = [model for model in models if isinstance(model, FittedEstimator)]
    if len(fitted) < len(models):
        return panel
    stacks = (kind.of(fitted, panel.n_classes) for kind in KINDS)
    stack = next((one for one in stacks if one is not None), None)
    return panel if stack is None else TreePanel(stack, panel)
