"""A few rules on a few points: where a vote of teachers is much worse, or much better, than each of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.types import Floats, Labels, positive_integer


@dataclass(frozen=True, slots=True)
class FewRules:
    """Points that are equally likely and always labelled 1, and a class of rules with equal errors.

    ``rules`` holds for each rule its answers at the points. In both examples here every rule becomes every other
    by renaming points, so a teacher that minimises its errors and breaks ties by lot is each rule with the same
    probability, whatever the number of its rows. `right` and what follows from it rest on that.

    Examples
    --------
    >>> fails = voting_fails()
    >>> fails.errors, round(fails.voting_error(101), 3), fails.limit_error
    ((0.5, 0.5, 0.5), 0.75, 0.75)
    """

    rules: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, rules: NDArray[np.integer]) -> Self:
        """Take the rules from a matrix with a line per rule."""
        return cls(tuple(tuple(int(answer) for answer in rule) for rule in rules))

    @property
    def n_points(self) -> int:
        return len(self.rules[0])

    @property
    def bayes_error(self) -> float:
        return 0.0

    @property
    def vc(self) -> int:
        """The size of the largest set of points that the rules label in every possible way."""
        table = np.array(self.rules)
        for size in range(min(self.n_points, len(self.rules).bit_length() - 1), 0, -1):  # 2^size rules at least
            for points in combinations(range(self.n_points), size):
                if len({tuple(line) for line in table[:, points].tolist()}) == 2**size:
                    return size
        return 0

    @property
    def errors(self) -> tuple[float, ...]:
        """The error of each rule."""
        return tuple(1 - sum(rule) / self.n_points for rule in self.rules)

    @property
    def right(self) -> tuple[float, ...]:
        """For each point the chance that a teacher is right there."""
        return tuple(sum(answers) / len(self.rules) for answers in zip(*self.rules, strict=True))

    @property
    def limit_error(self) -> float:
        """The error of the vote of infinitely many teachers."""
        return sum(chance <= 0.5 for chance in self.right) / self.n_points

    def voting_error(self, n_teachers: int) -> float:
        """Return the expected error of the vote of so many independent teachers, exactly; ties are wrong."""
        from scipy.stats import binom

        positive_integer(n_teachers=n_teachers)
        return float(np.mean(binom.cdf(n_teachers // 2, n_teachers, np.array(self.right))))

    def sample(self, n: int, rng: Generator) -> tuple[Floats, Labels]:
        """Draw n rows of one column, the number of a point, and their labels, all 1."""
        return rng.integers(self.n_points, size=(n, 1)).astype(np.float64), np.ones(n, dtype=np.int32)

    def bayes(self, X: Floats) -> Labels:
        return np.ones(len(X), dtype=np.int32)

    def regression(self, X: Floats) -> Floats:
        return np.ones(len(X))

    def answers(self, rule: int, X: Floats) -> Labels:
        """Return what a rule answers at some rows."""
        return np.array(self.rules[rule], dtype=np.int32)[X[:, 0].astype(np.int64)]

    def erm(self, X: Floats, y: Labels, rng: Generator) -> int:
        """Return the number of a rule that makes the fewest errors on these rows, ties broken by lot."""
        wrong = np.array([np.count_nonzero(self.answers(rule, X) != y) for rule in range(len(self.rules))])
        return int(rng.choice(np.flatnonzero(wrong == wrong.min())))


def voting_fails() -> FewRules:
    """Return Example 8 of Liu et al.: each voter errs on 0.5 of the points, and their vote on 0.75."""
    return FewRules(((1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1)))


def voting_wins(n_points: int = 5, *, n_wrong: int = 2) -> FewRules:
    """Return a world of Example 9 of Liu et al.: every voter errs at every point with the same chance below 1/2.

    The points lie on a circle, and each rule is wrong on ``n_wrong`` neighbours of it. With the margin
    Delta = 1/2 - n_wrong / n_points the vote of K teachers errs with a probability of at most e^(-2 K Delta^2).

    Examples
    --------
    >>> wins = voting_wins()
    >>> wins.errors[0], round(wins.voting_error(201), 4), wins.limit_error
    (0.4, 0.0021, 0.0)
    """
    positive_integer(n_points=n_points, n_wrong=n_wrong)
    if 2 * n_wrong >= n_points:
        raise InvalidParameter(
            f"Rules are wrong on {n_wrong} of {n_points} points; a vote wins where it is fewer than half of them."
        )
    first = np.where(np.arange(n_points) < n_wrong, 0, 1)
    return FewRules.of(np.array([np.roll(first, turn) for turn in range(n_points)]))
