"""The adversary's menu: every histogram, every moved vote, exact laws on both sides."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from mapl.audit.votes.histograms import Pairs, histograms, neighbours, pairs_of
from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.types import Budget, instability


@pytest.mark.parametrize(("teachers", "classes"), [(1, 2), (9, 2), (6, 3), (5, 4)])
def test_all_histograms_once_in_order(teachers: int, classes: int) -> None:
    rows = histograms(teachers, classes)
    expected = [n for n in product(range(teachers + 1), repeat=classes) if sum(n) == teachers]
    assert [tuple(row) for row in rows] == expected


@pytest.mark.parametrize(("teachers", "classes"), [(1, 2), (6, 3), (5, 4)])
def test_neighbours_are_exactly_the_moved_votes(teachers: int, classes: int) -> None:
    rows = histograms(teachers, classes)
    before, after = neighbours(rows)
    found = {(tuple(rows[i].tolist()), tuple(rows[j].tolist())) for i, j in zip(before, after, strict=True)}
    expected = set()
    for row in rows.tolist():
        for giver, taker in permutations(range(classes), 2):
            if row[giver]:
                moved = row.copy()
                moved[giver] -= 1
                moved[taker] += 1
                expected.add((tuple(row), tuple(moved)))
    assert found == expected
    assert len(before) == len(expected)


def test_too_many_histograms_are_refused_with_advice() -> None:
    with pytest.raises(InvalidParameter, match="Audit fewer teachers or fewer classes"):
        histograms(100, 10)


def test_a_ladder_has_two_pairs_per_rung_and_one_that_differs() -> None:
    budget = Budget(2.0, 1e-5)
    ladder = make("ladder", Task(budget, 20, 3, 10), max_abstentions=2)
    _, distances = instability(histograms(20, 3))
    pairs = pairs_of(ladder, 20, 3)
    assert len(pairs) == 2 * distances.max() + 1
    assert np.count_nonzero(pairs.impossible) == 1
    assert pairs.impossible.max() == ladder.rungs.numerators[0] / 2**62


def test_every_pair_has_its_mirror_image() -> None:
    noisy = make("noisy-max", Task(Budget(2.0, 1e-5), 9, 3, 5))
    pairs = pairs_of(noisy, 9, 3)
    there = {(tuple(p), tuple(q)) for p, q in zip(pairs.p.tolist(), pairs.q.tolist(), strict=True)}
    mirrored = {tuple(zip(*sorted(zip(q, p, strict=True)), strict=True)) for p, q in there}
    assert mirrored == {tuple(zip(*sorted(zip(p, q, strict=True)), strict=True)) for p, q in there}


def test_what_only_one_side_can_publish_is_set_apart() -> None:
    p, q = np.array([[0.25, 0.0, 0.75]]), np.array([[0.0, 0.25, 0.75]])
    pairs = Pairs.of(p, q, 2)
    assert pairs.impossible.tolist() == [0.25]
    assert pairs.p.tolist() == pairs.q.tolist() == [[0.75]]
    assert pairs.abstains.tolist() == [True]
    assert math.isclose(float(pairs.log_ratios()[0, 0]), 0.0)
