"""Empirical risk minimisers: who fits the labels best, and how much worse it is to call a row otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.students.active.pool import Floats
from mapl.students.fitting import quietly
from mapl.types import Labels


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
class FiniteClass:
    """Any finite list of classifiers, searched exactly; each is a row of ``calls`` on the points 0, 1, 2, ...

    Rows are numbers of points: matrices of one column.
    """

    calls: NDArray[np.int32]

    @property
    def dimension(self) -> int:
        return max(1, int(np.log2(len(self.calls))))  # 2^d classifiers are needed to shatter d points

    def contest(self, seen: Floats, labels: Labels, rows: Floats) -> Contest:
        at, asked = seen[:, 0].astype(np.int64), rows[:, 0].astype(np.int64)
        errors = (self.calls[:, at] != labels).mean(axis=1) if len(at) else np.zeros(len(self.calls))
        best = int(errors.argmin())
        calls = self.calls[best, asked]
        differs = self.calls[:, asked] != calls
        return Contest(calls, float(errors[best]), np.where(differs, errors[:, None], np.inf).min(axis=0))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """x >= t on one column, exactly: the best threshold lies between two neighbouring values."""

    @property
    def dimension(self) -> int:
        return 1

    def contest(self, seen: Floats, labels: Labels, rows: Floats) -> Contest:
        x, asked = seen[:, 0], rows[:, 0]
        # Thresholds at every value, and above all of them; those in between make the same calls.
        cuts = np.append(np.unique(np.concatenate([x, asked])), np.inf)
        total = max(1, len(x))
        ones_below = np.array([np.count_nonzero(labels[x < cut] == 1) for cut in cuts])
        zeros_from = np.array([np.count_nonzero(labels[x >= cut] == 0) for cut in cuts])
        errors = (ones_below + zeros_from) / total
        best = int(errors.argmin())
        calls = (asked >= cuts[best]).astype(np.int32)
        lowest_to = np.minimum.accumulate(errors)  # the best threshold at or below a value calls it 1
        lowest_from = np.minimum.accumulate(errors[::-1])[::-1]
        place = np.searchsorted(cuts, asked)
        return Contest(calls, float(errors[best]), np.where(calls == 1, lowest_from[place + 1], lowest_to[place]))


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
