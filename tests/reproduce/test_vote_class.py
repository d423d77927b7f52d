"""Votes of K classifiers are richer than K d points, and students of such votes stay within what was derived."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from mapl.bounds.lzcw21.margin import crowd
from mapl.reproduce.crowds.teachers import best_cuts
from mapl.reproduce.lzcw21.vote_class import (
    IN_THE_PLANE,
    classes_of_dimension_one,
    half_planes,
    most_shattered,
    nearly_all_pairs,
    votes_of,
)
from mapl.reproduce.lzcw21.vote_students import LETTERS, CrowdOfRules, as_votes_of_all, fit
from mapl.reproduce.worlds import FewRules, ThresholdWorld, voting_fails, voting_wins


def dimension(sets: list[frozenset[int]], points: int) -> int:
    """Return the VC dimension by its definition, on sets instead of tables."""
    sizes = [0]
    for size in range(1, points + 1):
        for some in map(frozenset, combinations(range(points), size)):
            if len({some & each for each in sets}) == 2**size:
                sizes.append(size)
    return max(sizes)


def test_votes_of_two_shatter_five_points_where_d_is_two() -> None:
    rules = nearly_all_pairs()
    sets = [frozenset(np.flatnonzero(rule)) for rule in rules.rules]
    assert dimension(sets, 5) == rules.vc == 2
    unions = {a | b for a in sets for b in sets}
    assert dimension(list(unions), 5) == votes_of(rules, 2).vc == 5
    # Without the set of three the votes miss all five points: the counterexample hangs on it.
    fewer = FewRules(tuple(rule for rule in rules.rules if sum(rule) < 3))
    assert votes_of(fewer, 2).vc == 4


def test_votes_of_three_half_planes_shatter_ten_points() -> None:
    x, y = np.array(IN_THE_PLANE).T
    for a, b, c in combinations(range(10), 3):  # no three on a line, so that turning an edge moves two points alone
        assert (x[b] - x[a]) * (y[c] - y[a]) != (y[b] - y[a]) * (x[c] - x[a])
    rules = np.array(half_planes(IN_THE_PLANE).rules)
    assert len(rules) == 10**2 - 10 + 2  # all that lines can do to ten points
    signs = 2.0 * rules - 1
    for each in signs:  # a plane that says so, with room to both sides
        rows = -each[:, None] * np.column_stack([x, y, np.ones(10)])
        assert linprog(np.zeros(3), rows, -np.ones(10), bounds=(None, None)).status == 0
    assert dimension([frozenset(np.flatnonzero(rule)) for rule in rules], 10) == 3
    votes = {tuple(each) for i, first in enumerate(signs) for each in _majorities(first, signs[i:], signs)}
    assert len(votes) == 2**10


def _majorities(first: Any, second: Any, third: Any) -> Any:
    """Return the signs of all votes of one rule with two others."""
    return np.unique(np.sign(first + second[:, None] + third[None]).reshape(-1, len(first)), axis=0).tolist()


def test_no_class_of_dimension_one_is_smaller_a_counterexample() -> None:
    classes = list(classes_of_dimension_one(3))
    # The count by the definition: every set of rules, without Sauer's lemma.
    every = list(product((0, 1), repeat=3))
    counted = 0
    for chosen in range(1, 2 ** len(every)):
        rules = [frozenset(np.flatnonzero(each)) for i, each in enumerate(every) if chosen >> i & 1]
        counted += dimension(rules, 3) == 1
    assert len(classes) == counted
    assert max(votes_of(each, 2).vc for each in classes) == 2
    assert max(votes_of(each, 3).vc for each in classes) == 1


def test_sauers_lemma_leaves_more_than_k_d_points() -> None:
    assert most_shattered(2, 2) >= 5
    growth = [most_shattered(2, k) / (2 * k) for k in (1, 2, 8, 64)]
    assert growth == sorted(growth)  # the logarithm


def test_votes_of_one_are_the_class_and_ties_say_one() -> None:
    rules = voting_fails()
    assert set(votes_of(rules, 1).rules) == set(rules.rules)
    assert votes_of(FewRules(((0, 0), (1, 0))), 2).rules == ((0, 0), (1, 0))


@pytest.mark.parametrize("world", [voting_wins(), voting_fails()], ids=["wins", "fails"])
def test_a_crowd_of_proposition_11_labels_as_the_ensemble_and_a_smaller_one_does_not(world: FewRules) -> None:
    one = CrowdOfRules(world, 500)
    table, wrong = one.labels(3)
    found = crowd(500, 0.0, one.margin, **LETTERS)
    assert wrong <= found.cutoff
    assert table.sum() == 500
    assert one.labels(3, share=0.1)[1] > 400
    assert one.ensemble.errors[0] == world.limit_error


def test_the_worst_of_the_best_students_is_told() -> None:
    rules = FewRules(((1, 0, 0), (0, 0, 1), (1, 1, 1)))
    table = np.array([[0, 5], [5, 0], [0, 5]])
    assert fit(rules, table) == (pytest.approx(2 / 3), 5)
    assert [as_votes_of_all(k, 3) for k in (1, 3, 4, 10)] == [3, 3, 9, 15]


def test_margins_of_teachers_on_a_line_are_as_reckoned() -> None:
    """A teacher is right at a distance u from the cut with chance 1 - (1 - 2u)^N/2: of 40,000, within 5 SE."""
    rows, u, times = 10, 0.03, 40_000
    X, y = ThresholdWorld().sample(rows * times, np.random.default_rng(5))
    right = float(np.mean(best_cuts(X.reshape(times, rows), y.reshape(times, rows)) <= 0.5 + u))
    assert abs(right - (1 - (1 - 2 * u) ** rows / 2)) < 5 * 0.5 / times**0.5 + 2.0**-rows
