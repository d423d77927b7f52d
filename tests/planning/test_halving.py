"""Margins of two classes are what they were; those of more never flatter, and find shares that are known."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

from mapl.errors import InvalidData
from mapl.planning.votes.halving import drawn_margin, halved_margins, split_margins
from mapl.planning.votes.noise_conditions import MarginCurve


@pytest.mark.parametrize(
    ("n_teachers", "step", "stored"),
    [
        (50, 10, [-0.05784688388420028, 0.0653253913326455, 0.19937078107749473, 0.3, 0.40000000000000013, 0.5]),
        (
            201,
            40,
            [
                -0.027689915974315058,
                0.10124968082394709,
                0.20149253721736235,
                0.3009950248756219,
                0.40049751243781095,
                0.5,
            ],
        ),
    ],
)
def test_two_classes_have_the_margins_of_before(n_teachers: int, step: int, stored: list[float]) -> None:
    """Computed by the code that knew two classes only; other libraries may round the last digits otherwise."""
    counts = np.array([[n_teachers - ones, ones] for ones in range(n_teachers + 1)])
    assert MarginCurve.of_counts(counts).margins[::step] == pytest.approx(stored, abs=1e-13)
    assert np.array_equal(halved_margins(counts), split_margins(n_teachers))


def test_classes_without_votes_change_nothing() -> None:
    two = np.array([[30 - ones, ones] for ones in range(16)])
    for more in (two[:, [0, 1]], two[:, [1, 0]]):
        padded = np.insert(more, 1, 0, axis=1)
        assert np.array_equal(halved_margins(padded), split_margins(30)[:16])


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_it_matters_neither_which_class_is_which_nor_what_else_is_asked(data: st.DataObject) -> None:
    shares = data.draw(st.lists(st.integers(1, 9), min_size=3, max_size=6))
    counts = np.random.default_rng(1).multinomial(40, np.array(shares) / sum(shares), size=6)
    order = data.draw(st.permutations(range(len(shares))))
    margins = halved_margins(counts)
    assert np.array_equal(margins, halved_margins(counts[:, list(order)]))
    assert margins[3] == halved_margins(counts[3:4])[0]


@pytest.mark.parametrize("votes", [(4, 3, 1), (3, 3, 2), (5, 2, 2), (6, 1, 1), (3, 2, 2, 1), (4, 3), (6, 2)])
def test_drawn_halvings_come_near_to_all_of_them(votes: tuple[int, ...]) -> None:
    total, n_classes = sum(votes), len(votes)
    each = np.repeat(np.arange(n_classes), votes)
    leads = []
    for members in combinations(range(total), total // 2):
        naming = np.isin(np.arange(total), members)
        first = np.bincount(each[naming], minlength=n_classes)
        shares = np.bincount(each[~naming], minlength=n_classes) / (~naming).sum()
        named = (first == first.max()) / (first == first.max()).sum()
        leads.append(named[:, None] * (shares[:, None] - shares) / 2)
    least = np.mean(leads, axis=0) + np.diag([np.inf] * n_classes)
    exact = least.min(axis=1).sum()
    assert drawn_margin(np.array(votes)) == pytest.approx(exact, abs=0.04)
    if n_classes == 2:
        assert split_margins(total)[votes[1]] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(
    "shares", [(1, 1, 1), (4, 4, 1), (4, 3, 3), (5, 3, 2), (6, 2, 2), (8, 1, 1), (5, 4, 1), (3, 3, 3, 1)]
)
def test_the_expected_estimate_is_never_above_the_margin_of_more_classes(shares: tuple[int, ...]) -> None:
    """Expected exactly over all counts of ten teachers; 0.005 is for the halvings that are drawn."""
    chances = np.array(shares) / sum(shares)
    grid = np.indices((11,) * (len(shares) - 1)).reshape(len(shares) - 1, -1).T
    grid = grid[grid.sum(axis=1) <= 10]
    counts = np.column_stack([grid, 10 - grid.sum(axis=1)])
    expected = multinomial.pmf(counts, 10, chances) @ halved_margins(counts)
    first, second = sorted(chances)[:-3:-1]
    assert expected <= (first - second) / 2 + 0.005


@pytest.mark.parametrize(
    ("shares", "margin"),
    [((0.5, 0.3, 0.2), 0.1), ((0.2, 0.1, 0.7), 0.25), ((0.05, 0.85, 0.1), 0.375), ((0.6, 0.2, 0.2), 0.2)],
)
def test_a_crowd_with_known_shares_shows_its_margin(shares: tuple[float, ...], margin: float) -> None:
    """Too small by sqrt(ln(C - 1) / (8M)) at most where the winner is clear, but for luck of 300 questions."""
    n_teachers, n_rows = 400, 300
    votes = np.random.default_rng(2).choice(3, size=(n_teachers, n_rows), p=shares)
    curve = MarginCurve.of_counts(np.stack([(votes == one).sum(axis=0) for one in range(3)], axis=1))
    assert (curve.n_teachers, curve.n_classes, curve.n_rows) == (n_teachers, 3, n_rows)
    luck = 4 / (2 * math.sqrt(n_teachers * n_rows))
    low = margin - math.sqrt(math.log(2) / (8 * n_teachers)) - luck
    assert low <= curve.margins.mean() <= margin + luck
    assert curve.margins.std() < 1.2 / (2 * math.sqrt(n_teachers))


def test_teachers_that_vote_at_random_are_not_flattered() -> None:
    counts = np.random.default_rng(3).multinomial(200, [1 / 3] * 3, size=300)
    falling = -np.sort(-counts, axis=1)
    plain = (falling[:, 0] - falling[:, 1]) / 400
    assert plain.mean() > 0.015
    assert -0.02 < halved_margins(counts).mean() < 0.0


def test_votes_for_a_single_class_are_refused() -> None:
    with pytest.raises(InvalidData, match="two or more classes"):
        MarginCurve.of_counts(np.full((5, 1), 4))
