"""Empirical risk minimisers: who fits the labels best, and how much worse it is to call a row otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mapl.errors import InvalidParameter
from mapl.students.fitting import quietly
from mapl.types import Floats, Labels


@dataclass(frozen=True, slots=True)
class Contest:
    """Some rows as the best classifier calls them, its share of mistakes, and that of the best who differs.

    ``otherwise[i]`` is the least share of mistakes of a classifier that calls row i the other class, infinite where
    there is none.
    """

    calls: Labels
    error: float
    otherwise: Floats


class Erm(Protocol):
    """An oracle for a class of two-class classifiers (THEORY: weighted ERM with one forced label)."""

    @property
    def dimension(self) -> int:
        """The VC dimension."""

    def contest(self, seen: Floats, labels: Labels, rows: Floats) -> Contest:
        """Fit the labels of the rows seen, and look how much fitting other rows otherwise would cost."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear classifiers, approximately: logistic regression in place of the fewest mistakes.

    The best classifier that calls a row otherwise is one Newton step away, along the direction in which the loss
    rises least until the row's score is zero; its mistakes are then counted, not guessed.
    """

    penalty: float = 1.0
    n_columns: int = 1

    @property
    def dimension(self) -> int:
        return self.n_columns + 1

    def contest(self, seen: Floats, labels: Labels, rows: Floats) -> Contest:
        if seen.shape[1] != self.n_columns:
            raise InvalidParameter(
                f"Rows have {seen.shape[1]} columns and the class was made for {self.n_columns}."
            )
        if len(np.unique(labels)) < 2:
            # Nothing speaks against the other class yet.
            call = int(labels[0]) if len(labels) else 0
            return Contest(np.full(len(rows), call, dtype=np.int32), 0.0, np.zeros(len(rows)))
        from sklearn.linear_model import LogisticRegression

        with quietly():
            model = LogisticRegression(C=self.penalty, max_iter=300, tol=1e-3).fit(seen, labels)
        weights = np.append(model.coef_[0], model.intercept_[0])
        with_one, asked = (np.column_stack([part, np.ones(len(part))]) for part in (seen, rows))
        scores, own = with_one @ weights, asked @ weights
        wrong = (scores > 0) != (labels == 1)
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        curvature = (with_one * (chance * (1 - chance))[:, None]).T @ with_one
        curvature[np.diag_indices_from(curvature)] += 1 / self.penalty
        along = np.linalg.solve(curvature, asked.T)  # one column per row asked
        step = own / np.maximum((asked * along.T).sum(axis=1), 1e-12)
        moved = scores[:, None] - (with_one @ along) * step
        otherwise = ((moved > 0) != (labels == 1)[:, None]).mean(axis=0)
        error = float(wrong.mean())
        return Contest((own > 0).astype(np.int32), error, np.maximum(otherwise, error))
