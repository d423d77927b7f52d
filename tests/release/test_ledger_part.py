"""A part of a ledger: names of its own, the whole plan's limits, and one chain for all."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

from mapl.errors import BudgetExhausted, GuaranteeBroken, LedgerTampered, PlanMismatch
from mapl.noise import SystemCoins
from mapl.planning.plan import Condition
from mapl.release.best_of import BestOf, select
from mapl.release.cell_counts import CellCounts, release_counts
from mapl.release.error_estimate import ErrorEstimate, estimate_error
from mapl.release.ledger.chain import ANSWERS, Entry, check_export
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.part import LedgerPart
from mapl.release.ledger.sqlite import SqliteLedger

LIMITS = Limits.of({"a: counts": Limit(4, 0), "b: counts": Limit(4, 0), "b: error": Limit(1, 0)})


def whole() -> MemoryLedger:
    ledger = MemoryLedger()
    ledger.open("p" * 64, LIMITS)
    return ledger


def test_two_methods_do_not_see_each_other() -> None:
    ledger, coins = whole(), SystemCoins()
    a, b = LedgerPart(ledger, "a"), LedgerPart(ledger, "b")
    mechanism, counts = CellCounts(1.0, 2, 2), np.zeros((2, 2), dtype=np.int64)
    first = release_counts(mechanism, counts, coins, ledger=a)
    assert not b.progress("counts").started
    release_counts(mechanism, counts, coins, ledger=b)
    estimate_error(ErrorEstimate.for_task(1.0, 3), np.array([1, 0, 2]), coins, ledger=b)
    assert (release_counts(mechanism, counts, coins, ledger=a) == first).all()  # read, not drawn again
    assert [entry.stage for entry in a.entries()] == ["counts", "counts"]
    assert [entry.stage for entry in b.entries()] == ["counts", "counts", "error", "error"]
    assert [entry.stage for entry in ledger.entries()[1:]] == ["a: counts"] * 2 + ["b: counts"] * 2 + [
        "b: error"
    ] * 2
    assert a.head == b.head == ledger.head
    assert a.export() == ledger.export()
    a.verify(seen=ledger.head)


def test_the_whole_plan_has_to_cover_a_method() -> None:
    part = LedgerPart(whole(), "b")
    part.open("of the method itself", Limits.of({"counts": Limit(3, 0), "error": Limit(1, 0)}))
    for limits in ({"counts": Limit(5, 0)}, {"counts": Limit(4, 1)}, {"labels": Limit(1, 0)}):
        with pytest.raises(PlanMismatch, match="does not cover stage 'b: "):
            part.open("of the method itself", Limits.of(limits))


def test_limits_are_those_of_the_whole() -> None:
    part, table = LedgerPart(whole(), "a"), np.zeros((1, 2), dtype=np.int64)
    with pytest.raises(PlanMismatch, match="asks for limits of 6 answers"):
        release_counts(CellCounts(1.0, 3, 2), np.zeros((3, 2), dtype=np.int64), SystemCoins(), ledger=part)
    release_counts(CellCounts(1.0, 1, 2), table, SystemCoins(), ledger=part)
    with pytest.raises(PlanMismatch, match="other settings"):
        release_counts(CellCounts(2.0, 1, 2), table, SystemCoins(), ledger=part)
    with pytest.raises(BudgetExhausted):
        part.append(Entry(ANSWERS, "counts", answered=1))


def test_the_stages_of_a_method_that_was_not_chosen_are_refused(tmp_path: Path) -> None:
    """Of two winners that a plan foresees, the ledger begins the one that is on record as chosen, and no other."""
    waits = {name: Condition("selection", number) for number, name in enumerate(("a: counts", "b: counts"))}
    limits = Limits.of({**dict(LIMITS.stages), "selection": Limit(1, 0)}, waits)
    mechanism, counts = CellCounts(1.0, 2, 2), np.zeros((2, 2), dtype=np.int64)
    for ledger in (MemoryLedger(), SqliteLedger(tmp_path / "ledger.sqlite")):
        ledger.open("p" * 64, limits)
        parts = [LedgerPart(ledger, name) for name in ("a", "b")]
        for part in parts:
            with pytest.raises(PlanMismatch, match="waits for stage 'selection' to release"):
                release_counts(mechanism, counts, SystemCoins(), ledger=part)
        chosen = select(BestOf(1.0, 2), lambda: np.array([3, 4]), SystemCoins(), ledger=ledger)
        with pytest.raises(PlanMismatch, match="Carry out what was chosen"):
            release_counts(mechanism, counts, SystemCoins(), ledger=parts[1 - chosen])
        release_counts(mechanism, counts, SystemCoins(), ledger=parts[chosen])
        ledger.verify()
        forged = ledger.export()
        forged[0]["payload"].pop("only_if")
        with pytest.raises(LedgerTampered):
            check_export(forged)


def test_a_part_is_never_copied() -> None:
    with pytest.raises(GuaranteeBroken, match="never copied"):
        copy.deepcopy(LedgerPart(whole(), "a"))
