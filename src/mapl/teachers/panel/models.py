"""Teachers of any kind: each is asked by itself, and what it fails on counts for the fallback class."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import block_of, n_rows
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.spelling import one_per_row
from mapl.teachers.panel.panel import count_votes
from mapl.types import Tallies

Model = Callable[[Any], NDArray[Any]]
"""Maps prepared rows to class numbers."""

TREES = frozenset(
    {
        "DecisionTreeClassifier",
        "ExtraTreesClassifier",
        "GradientBoostingClassifier",
        "HistGradientBoostingClassifier",
        "LGBMClassifier",
        "RandomForestClassifier",
    }
)
"""Models that walk a row through their trees in one order, so that nothing else in a batch can touch the result."""


@dataclass(frozen=True, slots=True, repr=False)
class ModelPanel:
    """Fitted models, None for a teacher that failed. Private.

    Parameters
    ----------
    alone
        Whether every row is asked alone. Products of matrices may round otherwise in another batch; what does not
        use them may be asked about many rows at once.
    """

    models: tuple[Model | None, ...]
    n_classes: int
    alone: bool

    @property
    def n_teachers(self) -> int:
        return len(self.models)

    def votes(self, rows: Any) -> Tallies:
        """Count the votes on prepared rows."""
        n = n_rows(rows)
        single = [block_of(rows, i, i + 1) for i in range(n)]
        votes = np.full((n, self.n_teachers), FALLBACK, dtype=np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k, model in enumerate(self.models):
                if model is not None:
                    together = None if self.alone or n == 1 else _asked(model, rows, n)
                    # A row that nobody can answer must not take the others of its batch along.
                    votes[:, k] = [_one(model, row) for row in single] if together is None else together
        return count_votes(votes, self.n_classes)

    def __repr__(self) -> str:
        return f"ModelPanel({self.n_teachers} teachers, private)"


def _one(model: Model, row: Any) -> int:
    answer = _asked(model, row, 1)
    return FALLBACK if answer is None else int(answer[0])


def _asked(model: Model, rows: Any, n: int) -> NDArray[np.int64] | None:
    """Return one class number per row, or None if the model fails on them."""
    try:
        return one_per_row(model(rows), n).astype(np.int64)
    except Exception:  # a teacher that fails casts the fallback vote, and says nothing
        return None
