"""Scores and their rounded medians: the distance against brute force over all scores of small worlds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.errors import InvalidData, InvalidParameter
from mapl.mechanisms import make
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.scores.scores import TOP, Medians, ScoreGrid, Scores
from mapl.types import Budget, State, Tallies


def all_scores(choices: list[int], n_teachers: int) -> Scores:
    return Scores.checked(np.array(list(product(choices, repeat=n_teachers))))


@pytest.mark.parametrize("n_teachers", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("width", "shift"), [(300, 0), (300, 1), (300, 250), (501, 1), (501, 500), (1000, 0)])
def test_distance_is_the_exact_distance_to_instability(n_teachers: int, width: int, shift: int) -> None:
    world = all_scores([0, 260, 499, 500, TOP] if n_teachers < 5 else [0, 499, 500, TOP], n_teachers)
    medians = Medians.of(world, ScoreGrid(width, shift))
    values, distances = medians.values, medians.distances
    lower = np.sort(world.marks, axis=1)[:, (n_teachers + 1) // 2 - 1].astype(np.int64)
    assert np.array_equal(values, (lower + shift) // width)
    for one in range(len(world)):
        changed = (world.marks != world.marks[one]).sum(axis=1)
        other = values != values[one]
        if not other.any():  # no score of this world lies in another cell
            continue
        assert distances[one] == changed[other].min() - 1
        next_to_it = changed == 1
        assert np.abs(distances[next_to_it] - distances[one]).max() <= 1
        assert (distances[next_to_it & other] == 0).all()
        assert distances[one] == 0 or not (next_to_it & other).any()


@given(st.lists(st.integers(0, TOP), min_size=1, max_size=12), st.integers(1, TOP), st.data())
def test_neighbours_keep_the_contract(marks: list[int], width: int, data: st.DataObject) -> None:
    changed = list(marks)
    changed[data.draw(st.integers(0, len(marks) - 1))] = data.draw(st.integers(0, TOP))
    grid = ScoreGrid(width, data.draw(st.integers(0, width - 1)))
    two = Medians.of(Scores.checked(np.array([marks, changed])), grid)
    assert abs(int(two.distances[0]) - int(two.distances[1])) <= 1
    if two.values[0] != two.values[1]:
        assert two.distances.tolist() == [0, 0]


def test_one_boundary_at_one_half_is_the_majority_of_two_classes() -> None:
    marks = np.random.default_rng(0).integers(0, TOP + 1, (500, 8))
    medians = Medians.of(Scores.checked(marks), ScoreGrid(501, 1))
    second = (marks >= 500).sum(axis=1)
    votes = Tallies.checked(np.column_stack([8 - second, second]))
    assert np.array_equal(medians.values, votes.values)
    assert np.array_equal(medians.distances, votes.distances)


def test_shifts_run_evenly_through_a_cell_and_middles_even_out() -> None:
    grid, numbers = ScoreGrid(200), np.arange(5000)
    shifts = grid.shifts(numbers)
    assert np.abs(np.histogram(shifts, bins=10, range=(0, 200))[0] / 5000 - 0.1).max() < 0.005
    for score in (300, 431, 650):
        medians = Medians.of(Scores.checked(np.full((5000, 3), score)), grid)
        assert medians.values.max() < grid.n_cells
        assert abs(grid.middles(numbers, medians.values).mean() - score / TOP) < 0.002


def test_a_part_of_the_questions_keeps_their_own_shifts() -> None:
    medians = Medians.of(Scores.checked(np.random.default_rng(1).integers(0, TOP + 1, (40, 9))), ScoreGrid(170))
    part = medians.part(10, 25)
    assert np.array_equal(part.values, medians.values[10:25])
    assert np.array_equal(part.distances, medians.distances[10:25])


@pytest.mark.parametrize("name", ["ladder", "threshold-ladder", "stable-queries"])
def test_every_mechanism_for_stable_answers_takes_medians(name: str) -> None:
    mechanism = make(name, Task(Budget(4.0, 1e-5), 400, 2, 10), max_abstentions=2)
    medians = Medians.of(Scores.checked(np.full((10, 400), 900)), ScoreGrid(501, 1))
    from mapl.noise import SeededCoins

    coins = SeededCoins(3)
    outcome = mechanism.release(mechanism.start(coins), medians, coins)
    assert outcome.labels.tolist() == [1] * 10


def test_chances_are_laid_out_by_cell() -> None:
    ladder = make("ladder", Task(Budget(4.0, 1e-5), 300, 2, 10), max_abstentions=2)
    law = ladder.chances(Medians.of(Scores.checked(np.full((1, 300), 100)), ScoreGrid(250, 0)), State())
    assert law.shape == (1, 6)
    assert law[0, 0] > 0.99
    assert law.sum() == pytest.approx(1)


def test_private_and_refused() -> None:
    scores = Scores.checked(np.array([[123, 456]]))
    assert "123" not in repr(scores) + repr(Medians.of(scores, ScoreGrid(100)))
    for wrong in (
        np.array([[-1]]),
        np.array([[TOP + 1]]),
        np.array([[0.5]]),
        np.zeros((0, 3), int),
        np.zeros(3, int),
    ):
        with pytest.raises(InvalidData, match=r"scores|Scores"):
            Scores.checked(wrong)
    for width, shift in ((0, None), (TOP + 1, None), (10, 10)):
        with pytest.raises(InvalidParameter, match="ells"):
            ScoreGrid(width, shift)
