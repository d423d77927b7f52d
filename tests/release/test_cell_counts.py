"""Noisy counts of all cells: the exact promise, twins that the same check catches, and one release per stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidParameter, PlanMismatch
from mapl.noise import ONE, Coins, SeededCoins, SystemCoins
from mapl.release.cell_counts import LARGEST, LEAST, MOST_ENTRIES, CellCounts, release_counts
from mapl.release.ledger.chain import ANSWERS, HALTED, Answers, Entry
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger

PLAN = "p" * 64


def below_exp(epsilon: float) -> Fraction:
    """Return a fraction just below e^epsilon: a partial sum of the exponential series."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(1)
    for k in range(1, 30 + 8 * int(epsilon + 1)):
        term = term * x / k
        total += term
    return total


def steps(sensitivity: int) -> list[tuple[int, ...]]:
    """All ways in which the four counts of a table change by no more than the sensitivity together."""
    reach = range(-sensitivity, sensitivity + 1)
    return [step for step in product(reach, repeat=4) if sum(map(abs, step)) <= sensitivity]


def is_private(mechanism: CellCounts) -> bool:
    """Check the promise itself on the exact law: every neighbour of a table, every outcome around both.

    Beyond both counts the ratio of chances stays what it is at the nearer one, so outcomes around them are all.
    """
    factor = below_exp(mechanism.epsilon)
    around = range(-mechanism.sensitivity - 1, mechanism.sensitivity + 2)
    most = {
        step: max(mechanism.chance(k) / mechanism.chance(k - step) for k in around)
        for step in range(-mechanism.sensitivity, mechanism.sensitivity + 1)
    }
    return all(prod(most[s] for s in step) <= factor for step in steps(mechanism.sensitivity))


CASES = [(LEAST, 1), (0.01, 1), (0.5, 2), (1.0, 1), (1.0, 2), (1.0, 3), (8.0, 2), (20.0, 1), (60.0, 2)]


@pytest.mark.parametrize(("epsilon", "sensitivity"), CASES)
def test_the_exact_law_keeps_the_promise(epsilon: float, sensitivity: int) -> None:
    mechanism = CellCounts(epsilon, 2, 2, sensitivity)
    assert is_private(mechanism)
    a = Fraction(mechanism.numerator, ONE)
    assert sum(mechanism.chance(k) for k in range(-9, 10)) + 2 * mechanism.chance(10) / (1 - a) == 1


@dataclass(frozen=True)
class OtherNoise(CellCounts):
    """Noise with another decay than the promise needs."""

    decays_like: int = 0

    @cached_property
    def numerator(self) -> int:
        return self.decays_like


@pytest.mark.parametrize(("epsilon", "sensitivity"), CASES[:-2])
def test_too_little_noise_is_caught(epsilon: float, sensitivity: int) -> None:
    """Half of the scale, noise for sensitivity 1 where it is 2, and four units in 2^62 less than drawn."""
    right = CellCounts(epsilon, 2, 2, sensitivity)
    half = CellCounts(2 * epsilon, 2, 2, sensitivity).numerator
    assert not is_private(OtherNoise(epsilon, 2, 2, sensitivity, half))
    if sensitivity > 1:
        assert not is_private(OtherNoise(epsilon, 2, 2, sensitivity, CellCounts(epsilon, 2, 2, 1).numerator))
    assert is_private(OtherNoise(epsilon, 2, 2, sensitivity, right.numerator))
    assert not is_private(OtherNoise(epsilon, 2, 2, sensitivity, right.numerator - 4))


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(1e-3, 50), sensitivity=st.integers(1, 3))
def test_the_price_is_one_epsilon_and_no_delta(epsilon: float, sensitivity: int) -> None:
    mechanism = CellCounts(epsilon, 1000, 7, sensitivity)
    assert mechanism.total.delta == 0
    assert mechanism.total.epsilon(0.0) <= epsilon * (1 + 1e-12)
    assert Limit.of(mechanism.parameters, n_questions=10) == Limit(7000, 0)  # whatever is asked about otherwise
    variance = (
        float(2 * sum(k * k * mechanism.chance(k) for k in range(1, 40))) if epsilon > 3 * sensitivity else None
    )
    assert variance is None or mechanism.deviation == pytest.approx(variance**0.5)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan"), LEAST / 2])
def test_senseless_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        CellCounts(epsilon, 10, 2)


def test_more_sensitivity_needs_more_epsilon() -> None:
    with pytest.raises(InvalidParameter, match=r"at least 0\.0002: larger noise takes too long"):
        CellCounts(1.5 * LEAST, 10, 2, sensitivity=2)
    assert CellCounts(1.5 * LEAST, 10, 2).deviation > 9000


@pytest.mark.parametrize("setting", [{"n_cells": 0}, {"n_classes": 0}, {"sensitivity": 0}, {"n_cells": 2.5}])
def test_senseless_sizes_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(setting))):
        replace(CellCounts(1.0, 10, 2), **setting)


def test_tables_beyond_memory_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="Ask for fewer cells"):
        CellCounts(1.0, MOST_ENTRIES, 2)


TABLE = np.array([[31, 0], [0, 417], [5, 5]])


@pytest.mark.parametrize(
    "counts",
    [
        TABLE.T,
        TABLE.ravel(),
        TABLE[:2],
        TABLE[:, :, None],
        TABLE.astype(float),
        TABLE.astype(bool),
        TABLE.astype(object),
    ],
)
def test_other_tables_are_refused_unquoted(counts: NDArray[Any]) -> None:
    with pytest.raises(GuaranteeBroken, match="Nothing was released") as caught:
        CellCounts(1.0, 3, 2).release(counts, SystemCoins())
    assert "417" not in str(caught.value)


class Unlucky(Coins):
    """Coins that fall on tails: no noise at all."""

    private = False

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.full(n, (1 << 64) - 1, dtype=np.uint64)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i4"])
def test_whole_numbers_of_every_width_stay_whole(kind: Any) -> None:
    counts = np.array([[31, 0], [0, 127], [5, 5]]).astype(kind)
    released = CellCounts(1.0, 3, 2).release(counts, Unlucky())
    assert (released.dtype, released.tolist()) == (np.int64, counts.tolist())


def test_counts_end_where_a_ledgers_numbers_end() -> None:
    beyond = np.array([[LARGEST, LARGEST + 1], [-LARGEST - 1, -(1 << 40)], [1 << 40, 7]])
    ends = [[LARGEST, LARGEST], [-LARGEST, -LARGEST], [LARGEST, 7]]
    mechanism, ledger = CellCounts(1.0, 3, 2), opened(MemoryLedger(), 6)
    assert mechanism.release(beyond, Unlucky()).tolist() == ends
    assert release_counts(mechanism, beyond, Unlucky(), ledger=ledger).tolist() == ends


@pytest.mark.statistical
def test_every_count_has_noise_of_its_own() -> None:
    """20,000 cells; a fresh seed fails with a probability below 1e-9 (eight standard errors)."""
    mechanism = CellCounts(0.5, 20_000, 2)
    noise = mechanism.release(np.full((20_000, 2), 50), SeededCoins(2)) - 50
    assert abs(noise.mean()) < 8 * mechanism.deviation / 200
    assert abs(np.corrcoef(noise.T)[0, 1]) < 8 / 20_000**0.5
    assert noise.std() == pytest.approx(mechanism.deviation, rel=0.1)


def opened(ledger: Any, *limits: int) -> Any:
    names = ("counts", "again", "third")
    ledger.open(PLAN, Limits.of({name: Limit(most, 0) for name, most in zip(names, limits, strict=False)}))
    return ledger


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    if request.param == "memory":
        yield opened(MemoryLedger(), 6, 4)
    else:
        with opened(SqliteLedger(tmp_path / "ledger.sqlite"), 6, 4) as file:
            yield file


class Forbidden(Coins):
    """Coins that nobody may flip."""

    private = True

    def words(self, n: int) -> NDArray[np.uint64]:
        raise AssertionError("a recorded table was drawn again")


def test_a_table_is_released_once_and_then_only_read(ledger: Ledger) -> None:
    mechanism = CellCounts(0.1, 3, 2)
    first = release_counts(mechanism, TABLE, SystemCoins(), ledger=ledger)
    assert (first.shape, first.dtype) == ((3, 2), np.int64)
    head = ledger.head
    for counts in (TABLE, TABLE + 1_000_000):
        again = release_counts(mechanism, counts, Forbidden(), ledger=ledger)
        assert again.tolist() == first.tolist()
    assert ledger.head == head
    assert [r.kind for r in ledger.entries()] == ["plan", "start", "halted"]
    assert ledger.progress("counts").state.answered == 6
    ledger.verify()


def test_another_process_reads_what_was_recorded(tmp_path: Path) -> None:
    mechanism, path = CellCounts(0.1, 3, 2), tmp_path / "ledger.sqlite"
    with opened(SqliteLedger(path), 6) as file:
        first = release_counts(mechanism, TABLE, SystemCoins(), ledger=file)
    with opened(SqliteLedger(path), 6) as file:
        assert release_counts(mechanism, TABLE, Forbidden(), ledger=file).tolist() == first.tolist()


@pytest.mark.parametrize(
    ("change", "differing"),
    [
        ({"epsilon": 0.2}, "parameters"),
        ({"sensitivity": 2}, "parameters"),
        ({"n_cells": 2, "n_classes": 3}, "para"),
    ],
)
def test_other_settings_are_refused_in_a_stage_that_was_begun(
    ledger: Ledger, change: dict[str, Any], differing: str
) -> None:
    mechanism = CellCounts(0.1, 3, 2)
    release_counts(mechanism, TABLE, SystemCoins(), ledger=ledger)
    other = replace(mechanism, **change)
    with pytest.raises(PlanMismatch, match=differing):
        release_counts(other, TABLE.reshape(other.n_cells, -1), SystemCoins(), ledger=ledger)
    with pytest.raises(PlanMismatch, match="private differ"):
        release_counts(mechanism, TABLE, SeededCoins(1), ledger=ledger)


def test_counts_are_not_read_as_those_of_other_cells(ledger: Ledger) -> None:
    mechanism = CellCounts(0.1, 3, 2)
    first = release_counts(mechanism, TABLE, SystemCoins(), ledger=ledger, of="these cells")
    with pytest.raises(PlanMismatch, match="cells differ"):
        release_counts(mechanism, TABLE, Forbidden(), ledger=ledger, of="other cells")
    again = release_counts(mechanism, TABLE, Forbidden(), ledger=ledger, of="these cells")
    assert again.tolist() == first.tolist()


def test_nothing_more_is_released_in_the_same_stage(ledger: Ledger) -> None:
    release_counts(CellCounts(0.1, 3, 2), TABLE, SystemCoins(), ledger=ledger)
    for kind in (ANSWERS, HALTED):
        with pytest.raises(BudgetExhausted, match="has ended"):
            ledger.append(
                Entry(kind, "counts", answered=1), answers=Answers(np.array([1], dtype=np.int32), None, 1)
            )


def test_the_plans_limits_are_kept(ledger: Ledger) -> None:
    """A table that is larger than planned, and a stage that was not planned."""
    with pytest.raises(PlanMismatch, match="asks for limits of 8 answers"):
        release_counts(CellCounts(0.1, 4, 2), np.ones((4, 2), dtype=int), SystemCoins(), ledger=ledger)
    with pytest.raises(PlanMismatch, match="no stage 'third'"):
        release_counts(CellCounts(0.1, 3, 2), TABLE, SystemCoins(), ledger=ledger, stage="third")
    assert [r.kind for r in ledger.entries()] == ["plan"]


def test_a_second_round_is_a_stage_of_its_own(ledger: Ledger) -> None:
    first, second = CellCounts(0.1, 3, 2), CellCounts(0.3, 2, 2)
    one = release_counts(first, TABLE, SystemCoins(), ledger=ledger)
    two = release_counts(second, TABLE[:2], SystemCoins(), ledger=ledger, stage="again")
    assert release_counts(first, TABLE, Forbidden(), ledger=ledger).tolist() == one.tolist()
    assert release_counts(second, TABLE[:2], Forbidden(), ledger=ledger, stage="again").tolist() == two.tolist()
    assert (first.total + second.total).epsilon(0.0) == pytest.approx(0.4)


def test_a_table_that_does_not_fit_leaves_the_stage_usable(ledger: Ledger) -> None:
    mechanism = CellCounts(0.1, 3, 2)
    with pytest.raises(GuaranteeBroken):
        release_counts(mechanism, TABLE.T, SystemCoins(), ledger=ledger)
    assert ledger.progress("counts").state.answered == 0
    assert release_counts(mechanism, TABLE, SystemCoins(), ledger=ledger).shape == (3, 2)


class Dying(Coins):
    """Coins that fail in the middle of a release."""

    private = True

    def words(self, n: int) -> NDArray[np.uint64]:
        raise OSError("no more entropy")


def test_a_release_that_dies_is_begun_again_with_other_coins(ledger: Ledger) -> None:
    mechanism = CellCounts(0.1, 3, 2)
    with pytest.raises(OSError, match="entropy"):
        release_counts(mechanism, TABLE, Dying(), ledger=ledger)
    assert [r.kind for r in ledger.entries()] == ["plan", "start"]
    first = release_counts(mechanism, TABLE, SystemCoins(), ledger=ledger)
    assert release_counts(mechanism, TABLE, Forbidden(), ledger=ledger).tolist() == first.tolist()
