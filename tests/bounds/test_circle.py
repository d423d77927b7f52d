"""The circle T -> k -> alpha -> T: the walk ends at the least fixpoint, or says what would have to grow."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.bounds.btt18.algorithm2 import Constants, count_contested
from mapl.bounds.btt18.circle import Setting, closes, least_fixpoint, obstacle, on_grid, round_up, solve
from mapl.bounds.learners import agnostic_excess
from mapl.errors import CannotCalibrate

EASY = Setting(n=10**9, vc=3, epsilon=1.0, delta=1e-6, m=1000, beta=0.05)
HARD = replace(EASY, n=10**6)


@given(rises=st.lists(st.integers(0, 4), min_size=1, max_size=60), start=st.integers(0, 30))
def test_the_walk_finds_the_least_fixpoint_of_every_rising_function(rises: list[int], start: int) -> None:
    values = [start]
    for rise in rises:
        values.append(values[-1] + rise)
    limit = len(values)

    def step(cutoff: int) -> int:
        return values[cutoff - 1]

    by_hand = next((t for t in range(1, limit) if step(t) <= t), None)
    found = least_fixpoint(step, limit)
    assert (None if found is None else found[0]) == by_hand
    assert found is None or found[1] <= limit


@given(slope=st.floats(0, 1), shift=st.integers(0, 10**6), limit=st.integers(1, 10**12))
@settings(max_examples=60, deadline=None)
def test_large_cutoffs_are_enough_and_hardly_too_large(slope: float, shift: int, limit: int) -> None:
    def step(cutoff: int) -> int:
        return shift + int(slope * cutoff)

    found = least_fixpoint(step, limit)
    if found is not None:
        cutoff, steps = found
        assert step(cutoff) <= cutoff < limit
        assert steps <= 9 * 10**4
        smaller = round(cutoff * 0.997) - 2
        assert smaller < 1 or step(smaller) > smaller


def test_the_slowest_walk_ends() -> None:
    # One up at every step: below 10,000 each number is visited, above only four digits count.
    assert least_fixpoint(lambda cutoff: cutoff + 1, 10**12) is None
    assert least_fixpoint(lambda cutoff: min(cutoff + 1, 9000), 10**12) == (9000, 9000)


@pytest.mark.parametrize("number", [1, 7, 9999, 10_000, 10_001, 123_456, 10**12 + 1])
def test_the_grid_rounds_up_to_four_digits(number: int) -> None:
    rounded = on_grid(number)
    assert number <= rounded <= number * 1.001
    assert rounded == number if number < 10**4 else len(str(rounded).rstrip("0")) <= 4
    assert on_grid(rounded) == rounded


@given(
    cutoff=st.integers(1, 10**5),
    more=st.integers(1, 10**5),
    n=st.integers(1, 10**11),
    m=st.integers(1, 10**6),
    agnostic=st.booleans(),
    constants=st.sampled_from(Constants),
)
def test_once_round_never_falls(
    cutoff: int, more: int, n: int, m: int, agnostic: bool, constants: Constants
) -> None:
    setting = replace(EASY, n=n, m=m, constants=constants)
    if agnostic:
        setting = replace(setting, learner=agnostic_excess, gamma=0.01)
    assert setting.next_cutoff(cutoff) <= setting.next_cutoff(cutoff + more) <= m
    assert replace(setting, n=2 * n).next_cutoff(cutoff) <= setting.next_cutoff(cutoff)
    assert replace(setting, epsilon=2.0).next_cutoff(cutoff) <= setting.next_cutoff(cutoff)


def test_what_is_found_pays_for_itself_and_nothing_smaller_does() -> None:
    circle = solve(EASY)
    cutoff = circle.cutoff
    assert EASY.next_cutoff(cutoff) <= cutoff
    assert all(EASY.next_cutoff(smaller) > smaller for smaller in range(1, cutoff))
    # Once round by hand.
    assert circle.rows_each == 10**9 // circle.algorithm.teachers
    assert circle.alpha == EASY.excess(circle.algorithm.teachers)
    assert count_contested(1000, circle.alpha, 0.025) <= cutoff


def number_after(words: str, message: str) -> float:
    found = re.search(words + r" ([0-9.e+-]*[0-9])", message)
    assert found, message
    return float(found[1])


@pytest.mark.parametrize("constants", Constants)
@pytest.mark.parametrize("n", [100, 10**5, 10**7])
def test_the_message_names_an_n_that_is_enough_and_hardly_more(n: int, constants: Constants) -> None:
    setting = replace(HARD, n=n, constants=constants)
    with pytest.raises(CannotCalibrate, match="n would have to grow from") as refused:
        solve(setting)
    wanted = number_after("to about", str(refused.value))
    assert closes(replace(setting, n=int(wanted)))
    assert not closes(replace(setting, n=int(wanted * 0.98)))


def test_the_message_names_an_epsilon_with_delta_adjacency_and_unit() -> None:
    message = obstacle(replace(HARD, n=10**7))
    wanted = number_after("or epsilon from 1 to about", message)
    assert closes(replace(HARD, n=10**7, epsilon=wanted))
    assert not closes(replace(HARD, n=10**7, epsilon=wanted * 0.98))
    assert "at delta 1e-06 (adjacency: one teacher's votes" in message
    assert "unit: one teacher" in message


def test_too_much_noise_and_too_few_questions_are_told_apart() -> None:
    noisy = replace(EASY, gamma=0.4, learner=agnostic_excess)
    message = obstacle(noisy)
    assert "gamma would have to fall from 0.4 to about" in message
    assert "m would" not in message
    wanted = number_after("fall from 0.4 to about", message)
    assert count_contested(1000, wanted, 0.025) < 1000 <= count_contested(1000, wanted + 0.001, 0.025)

    message = obstacle(replace(EASY, m=1))
    assert "m would have to grow to about 3." in message
    assert [count_contested(m, 0.0, 0.025) for m in (1, 2, 3)] == [1, 2, 2]
    assert "gamma would have to fall below 1/3 and m to grow" in obstacle(replace(noisy, m=1))

    message = obstacle(replace(EASY, m=10, gamma=0.2, learner=agnostic_excess))
    wanted = number_after("m would have to grow to about", message)
    assert count_contested(int(wanted), 0.2, 0.025) < int(wanted)


def test_hopeless_and_huge_numbers_end_quickly() -> None:
    for n in (1, 10**12):
        for m in (1, 10**12):
            with pytest.raises(CannotCalibrate, match="would have to"):
                solve(replace(EASY, n=n, m=m, vc=1000))


def test_printed_constants_are_refused_where_nothing_proves_them_private() -> None:
    with pytest.raises(CannotCalibrate, match=r"proved private up to epsilon 34 at delta 1e-06 \(adjacency"):
        solve(replace(EASY, epsilon=40.0, constants=Constants.printed))


@given(st.floats(1e-3, 1e17))
def test_rounding_up_keeps_what_is_enough(value: float) -> None:
    assert value * (1 - 1e-11) <= round_up(value) <= value * 1.0101
