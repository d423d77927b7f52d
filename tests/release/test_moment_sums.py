"""Noisy sums: what they claim, what they release, and rounds that are recorded one by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mapl.accounting.hockey_stick import gaussian_delta
from mapl.data.moments.contributions import ExactSums
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter, MaplError
from mapl.noise import SeededCoins, SystemCoins
from mapl.noise.gaussian import DEVIATION_BITS, draw_gaussian
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.moment_sums import CHANGES, LARGEST, MOST_REACH, MomentSums, SumsStage
from mapl.types import Budget

PLAN = "p" * 64
FALSE_ALARM = 1e-6


def sums_of(numbers: Any) -> ExactSums:
    sums = ExactSums(len(numbers))
    sums.add(np.asarray(numbers, dtype=np.int64))
    return sums


def stage_of(mechanism: MomentSums, of: str = "a" * 64) -> SumsStage:
    return SumsStage(mechanism, "sums", of)


@settings(max_examples=80, deadline=None)
@given(
    epsilon=st.floats(0.02, 8),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
    shares=st.lists(st.floats(0.05, 1), min_size=1, max_size=8),
    changes=st.sampled_from([1, 2]),
)
def test_the_longest_contributions_that_pass(
    epsilon: float, delta: float, shares: list[float], changes: int
) -> None:
    budget, entries = Budget(epsilon, delta), (7,) * len(shares)
    found = MomentSums.for_budget(budget, entries=entries, shares=tuple(shares), changes=changes)
    assert found.certify(budget)
    if max(found.reaches) < MOST_REACH:
        longer = replace(found, reaches=tuple(min(int(reach * 1.001), MOST_REACH) for reach in found.reaches))
        assert not longer.certify(budget)
    rounds = [Fraction(changes * reach, 1 << DEVIATION_BITS) ** 2 for reach in found.reaches]
    assert found.square == sum(rounds)
    if max(found.reaches) < MOST_REACH:
        parts = np.array([float(one / found.square) for one in rounds])
        assert np.allclose(parts, np.array(shares) / sum(shares), rtol=1e-5)


def test_rounds_share_one_charge_and_changes_double_it() -> None:
    budget = Budget(0.5, 1e-6)
    one = MomentSums.for_budget(budget, entries=(9,))
    four = MomentSums.for_budget(budget, entries=(9,) * 4)
    twice = MomentSums.for_budget(budget, entries=(9,), changes=2)
    assert four.reaches[0] / one.reaches[0] == pytest.approx(1 / 2, rel=1e-6)
    assert twice.reaches[0] / one.reaches[0] == pytest.approx(1 / 2, rel=1e-6)
    assert CHANGES == {"add-remove": 1, "replace-one": 2, "labels": 2}
    assert gaussian_delta(float(one.square) ** 0.5, 0.5) == pytest.approx(1e-6, rel=1e-4)


def test_rounds_about_different_units_have_all_of_the_charge_each() -> None:
    budget = Budget(0.5, 1e-6)
    alone = MomentSums.for_budget(budget, entries=(9,))
    apart = MomentSums.for_budget(budget, entries=(9,) * 4, shares=(0.7, 0.1, 0.1, 0.1), apart=True)
    assert len(set(apart.reaches)) == 1
    assert apart.reaches[0] / alone.reaches[0] == pytest.approx(1, rel=1e-6)
    assert apart.certify(budget)
    assert not replace(apart, apart=False).certify(budget)
    uneven = replace(apart, reaches=(1 << 30, 1 << 31, 1 << 29, 1 << 30))
    assert uneven.square == Fraction(1, 1 << 18)
    assert replace(uneven, apart=False).square > uneven.square
    assert (apart.parameters["rounds of a unit"], "rounds of a unit" in alone.parameters) == (1, False)


def test_released_sums_are_the_noisy_ones_rounded_down() -> None:
    mechanism = MomentSums((1 << 39, 1 << 38), (5, 3))
    numbers = np.array([0, 1 << 40, -(1 << 45), 12345, -1])
    told = mechanism.release(0, sums_of(numbers), SeededCoins(7))
    noisy = numbers + draw_gaussian(SeededCoins(7), 5)
    assert (told * 64).tolist() == (noisy >> 34).tolist()


def test_what_a_ledger_cannot_hold_is_cut_off() -> None:
    mechanism = MomentSums((1 << 39,), (2,))
    sums = ExactSums(2)
    for _ in range(1 << 5):
        sums.add(np.array([1 << 61, -(1 << 61)]))
    assert (mechanism.release(0, sums, SeededCoins(1)) * 64).tolist() == [LARGEST, -LARGEST]


@pytest.mark.statistical
def test_noise_has_the_deviation_that_is_paid_for() -> None:
    """The variance of all that is told, with the operating system's coins; false alarms at a rate of 10^-6."""
    n = 100_000
    told = MomentSums((1 << 39,), (n,)).release(0, ExactSums(n), SystemCoins()) + 1 / 128
    low, high = stats.chi2(n).interval(1 - FALSE_ALARM)
    assert low < (told**2).sum() / (1 + 2.0**-12 / 12) < high


def test_every_round_is_recorded_before_the_next_and_read_again(tmp_path: Path) -> None:
    mechanism = MomentSums((1 << 39,) * 3, (4, 2, 4))
    seen: list[list[float]] = []
    for life in range(3):  # each goes on where the last one ended, with coins of its own
        with SqliteLedger(tmp_path / "ledger") as ledger:
            ledger.open(PLAN, Limits.of({"sums": Limit(10, 0)}))
            stage = stage_of(mechanism)
            told = stage.begin(SeededCoins(life), ledger)
            assert [one.tolist() for one in told] == seen
            told = stage.release(ExactSums(mechanism.entries[life]), SeededCoins(life), ledger)
            seen = [one.tolist() for one in told]
            assert len(seen) == life + 1
    assert seen[0] != seen[2]
    with SqliteLedger(tmp_path / "ledger") as ledger:
        assert [one.tolist() for one in stage_of(mechanism).begin(SeededCoins(9), ledger)] == seen
        with pytest.raises(GuaranteeBroken, match="All 3 rounds were released before"):
            stage_of(mechanism).release(ExactSums(4), SeededCoins(9), ledger)


def test_a_stage_is_not_gone_on_with_by_another_one() -> None:
    mechanism = MomentSums((1 << 39,) * 2, (4, 4))
    for other in (
        stage_of(mechanism, of="b" * 64),
        stage_of(replace(mechanism, reaches=(1 << 39, 1 << 40))),
        stage_of(replace(mechanism, changes=2)),
    ):
        ledger = MemoryLedger()
        ledger.open(PLAN, Limits.of({"sums": Limit(8, 0)}))
        stage_of(mechanism).begin(SeededCoins(1), ledger)
        stage_of(mechanism).release(ExactSums(4), SeededCoins(1), ledger)
        with pytest.raises(MaplError):
            other.begin(SeededCoins(1), ledger)


def test_sums_of_another_shape_are_not_released() -> None:
    with pytest.raises(GuaranteeBroken, match="Expected 4 whole numbers; there are 5"):
        MomentSums((1 << 39,), (4,)).release(0, ExactSums(5), SeededCoins(1))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="delta is 0; the normal noise of sums needs a positive delta"):
        MomentSums.for_budget(Budget(1.0, 0.0), entries=(4,))
    with pytest.raises(CannotCalibrate, match="raise the budget"):
        MomentSums.for_budget(Budget(1e-5, 1e-12), entries=(4,) * 8)
    with pytest.raises(InvalidParameter, match="are too many"):
        MomentSums((1 << 39,), (1 << 27,))
    with pytest.raises(GuaranteeBroken, match="more than exact sums allow"):
        MomentSums((MOST_REACH + 1,), (4,))
    assert not MomentSums((1 << 30,), (4,)).certify(Budget(28.0, 1e-5))
