"""One contract for every ledger: it counts, stores and refuses, and its public chain cannot be changed unseen."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import (
    BudgetExhausted,
    GuaranteeBroken,
    InvalidParameter,
    LedgerError,
    LedgerTampered,
    PlanMismatch,
)
from mapl.planning.plan import Plan, Stage, canonical
from mapl.release.ledger.chain import ANSWERS, HALTED, START, Answers, Entry, Record, check_export
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.spend import begin
from mapl.types import ABSTAIN, Budget, Secret, State

PLAN = "a" * 64
LIMITS = Limits.of({"error": Limit(1, 0), "labels": Limit(10, 4)})
SECRET = 7_654_321

Make = Callable[[], Ledger]


@pytest.fixture
def ledger(make: Make) -> Ledger:
    opened = make()
    opened.open(PLAN, LIMITS)
    return opened


def outcomes(*labels: int, fallback: tuple[bool, ...] | None = None, room: int = 8) -> Answers:
    flags = None if fallback is None else np.array(fallback)
    return Answers(np.array(labels, dtype=np.int8), flags, room)


def publish(ledger: Ledger, *labels: int, kind: str = ANSWERS, secret: int | None = None) -> None:
    abstained = labels.count(ABSTAIN)
    ledger.append(
        Entry(kind, "labels", len(labels) - abstained, abstained),
        secret=None if secret is None else Secret(secret),
        answers=outcomes(*labels),
    )


def test_a_new_stage_stands_at_the_beginning(ledger: Ledger) -> None:
    progress = ledger.progress("labels")
    assert progress.state == State()
    assert not progress.started
    assert (len(progress.labels), progress.fallback) == (0, None)


def test_two_ledgers_with_equal_entries_are_two_runs(make: Make) -> None:
    ledgers = [make(), make()]
    for ledger in ledgers:
        ledger.open(PLAN, LIMITS)
        ledger.append(Entry(START, "labels"))
        publish(ledger, 1, 0)
    one, other = ledgers
    assert one.head != other.head
    assert one.run_id != other.run_id
    assert [len(str(ledger.run_id)) for ledger in ledgers] == [32, 32]
    for ledger in ledgers:
        ledger.open(PLAN, LIMITS)  # goes on with it
        assert ledger.export()[0]["payload"]["run_id"] == ledger.run_id
    changed = one.export()
    changed[0]["payload"]["run_id"] = other.run_id
    with pytest.raises(LedgerTampered):
        check_export(changed)


def test_chains_of_a_mapl_without_run_ids_stay_readable(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapl.release.ledger.memory.new_run_id", lambda: None)
    monkeypatch.setattr("mapl.release.ledger.sql.chain_in_tables.new_run_id", lambda: None)
    old = make()
    old.open(PLAN, LIMITS)
    limits = {"error": [1, 0], "labels": [10, 4]}
    assert old.export()[0]["payload"] == {"plan": PLAN, "limits": limits, "schema": 1}
    # The head that this chain had before there were ids.
    assert old.head == "b72a1b4fc856c06072dceccdc8a74651c1853896424b8d059513ee2ee02a68db"
    monkeypatch.undo()
    old.open(PLAN, LIMITS)
    old.append(Entry(START, "labels"))
    publish(old, 1)
    old.verify()
    assert check_export(old.export()) == old.head
    assert old.run_id is None


def test_spend_state_and_answers_are_kept_together(ledger: Ledger) -> None:
    ledger.append(Entry(START, "labels", payload={"mechanism": "ladder"}), secret=Secret(SECRET))
    assert ledger.progress("labels").state == State(secret=Secret(SECRET))
    publish(ledger, 1, ABSTAIN, 0, secret=SECRET + 1)
    publish(ledger, 2, kind=HALTED)
    progress = ledger.progress("labels")
    assert progress.state == State(3, 1, halted=True)
    assert progress.labels.tolist() == [1, ABSTAIN, 0, 2]
    assert progress.labels.dtype == np.int32
    assert progress.start == {"mechanism": "ladder"}
    assert [r.kind for r in ledger.entries()] == ["plan", START, ANSWERS, HALTED]


def test_fallback_flags_survive_blocks_without_any(ledger: Ledger) -> None:
    ledger.append(Entry(START, "labels"))
    publish(ledger, 1, 0)
    ledger.append(Entry(ANSWERS, "labels", 1, 1), answers=outcomes(0, 1, fallback=(True, False)))
    fallback = ledger.progress("labels").fallback
    assert fallback is not None
    assert fallback.tolist() == [False, False, True, False]


def test_exactly_the_limit_is_granted(ledger: Ledger) -> None:
    ledger.append(Entry(START, "labels"))
    publish(ledger, *[1] * 9, *[ABSTAIN] * 4)
    before = (ledger.head, ledger.export())
    for labels in ((1, 1), (ABSTAIN,), (1, ABSTAIN)):
        with pytest.raises(
            BudgetExhausted, match=r"'labels' may publish 10 answers and 4 abstentions.*nothing was"
        ):
            publish(ledger, *labels)
    assert (ledger.head, ledger.export()) == before
    publish(ledger, 1)
    with pytest.raises(BudgetExhausted):
        publish(ledger, 1)
    assert ledger.progress("labels").state == State(10, 4)


def test_limits_can_only_be_lowered(ledger: Ledger) -> None:
    with pytest.raises(PlanMismatch, match=r"asks for limits of 11 answers and 4 .* the plan allows 10 and 4"):
        ledger.append(Entry(START, "labels", limit=Limit(11, 4)))
    ledger.append(Entry(START, "labels", limit=Limit(3, 4)))
    with pytest.raises(PlanMismatch, match="allows 3 and 4"):
        ledger.append(Entry(ANSWERS, "labels", 1, limit=Limit(4, 4)), answers=outcomes(1))
    with pytest.raises(BudgetExhausted):
        publish(ledger, 1, 1, 1, 1)
    publish(ledger, 1, 1, 1)


def test_stages_do_not_share_their_limits(ledger: Ledger) -> None:
    for stage in ("error", "labels"):
        ledger.append(Entry(START, stage))
    publish(ledger, 1, 1)
    ledger.append(Entry(HALTED, "error", 1, payload={"released": 12}))
    publish(ledger, 1)
    assert ledger.progress("labels").state == State(3)
    assert ledger.progress("error").state == State(1, halted=True)
    with pytest.raises(PlanMismatch, match="no stage 'student'; it has error, labels"):
        ledger.append(Entry(START, "student"))


def test_a_stage_starts_once_and_ends_once(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="does not fit here"):
        publish(ledger, 1)
    ledger.append(Entry(START, "labels"))
    for kind in (START, "plan", "refund"):
        with pytest.raises(LedgerError, match="does not fit here"):
            ledger.append(Entry(kind, "labels"))
    publish(ledger, 1, kind=HALTED)
    with pytest.raises(BudgetExhausted, match="has ended"):
        publish(ledger, 1)


@pytest.mark.parametrize(("answered", "abstained"), [(-1, 1), (1.0, 0), (True, 0), (1, -1), ("1", 0), (0.5, 0.5)])
def test_only_whole_numbers_are_counted(ledger: Ledger, answered: Any, abstained: Any) -> None:
    ledger.append(Entry(START, "labels"))
    with pytest.raises(InvalidParameter, match="whole number"):
        ledger.append(Entry(ANSWERS, "labels", answered, abstained))
    assert ledger.progress("labels").state == State()


def test_what_is_published_is_what_is_counted(ledger: Ledger) -> None:
    ledger.append(Entry(START, "labels"))
    with pytest.raises(GuaranteeBroken, match="number of published outcomes"):
        ledger.append(Entry(ANSWERS, "labels", 1, 0), answers=outcomes(1, 1))
    with pytest.raises(LedgerError, match="carries no answers"):
        ledger.append(Entry(START, "error"), answers=outcomes())


def test_nothing_is_recorded_without_a_plan(make: Make) -> None:
    ledger = make()
    with pytest.raises(LedgerError, match="no plan yet"):
        ledger.append(Entry(START, "labels"))
    with pytest.raises(LedgerError, match="no plan yet"):
        _ = ledger.head
    assert ledger.entries() == []


def test_another_plan_is_refused(ledger: Ledger) -> None:
    ledger.open(PLAN, LIMITS)
    for plan, limits in (("b" * 64, LIMITS), (PLAN, Limits.of({"labels": Limit(10, 5), "error": Limit(1, 0)}))):
        with pytest.raises(PlanMismatch, match="another plan"):
            ledger.open(plan, limits)
    assert len(ledger.entries()) == 1


def test_begin_draws_once_and_refuses_other_settings(ledger: Ledger) -> None:
    drawn = iter([State(secret=Secret(1)), State(secret=Secret(2))])
    entry = Entry(START, "labels", payload={"mechanism": "ladder", "order": 2.5, "questions": 3})
    assert begin(ledger, entry, lambda: next(drawn)).state.secret == Secret(1)
    assert begin(ledger, entry, lambda: next(drawn)).state.secret == Secret(1)
    other = Entry(START, "labels", payload={"mechanism": "ladder", "order": 2.0, "questions": 4})
    with pytest.raises(PlanMismatch, match=r"other settings \(order, questions differ\)"):
        begin(ledger, other, lambda: next(drawn))


def test_a_ledger_is_never_copied(ledger: Ledger) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps, lambda one: copy.deepcopy({"inside": [one]})):
        with pytest.raises(GuaranteeBroken, match="never copied"):
            duplicate(ledger)


def finished(ledger: Ledger) -> Ledger:
    ledger.append(Entry(START, "error", payload={"epsilon": 0.1}))
    ledger.append(Entry(HALTED, "error", 1, payload={"released": 12}))
    ledger.append(Entry(START, "labels", payload={"mechanism": "btt18"}, limit=Limit(8, 4)), secret=Secret(SECRET))
    publish(ledger, 1, ABSTAIN, secret=SECRET + 1)
    publish(ledger, 0, 1, kind=HALTED)
    return ledger


def test_the_exported_chain_is_public_and_checks_out(ledger: Ledger) -> None:
    finished(ledger).verify(seen=ledger.head)
    text = json.dumps(ledger.export())
    assert str(SECRET) not in text
    assert str(SECRET + 1) not in text
    lines = json.loads(text)
    assert check_export(lines) == ledger.head
    assert [line["number"] for line in lines] == list(range(6))
    assert lines[-1]["all_answered"] == 3
    assert lines[0]["payload"]["limits"] == {"error": [1, 0], "labels": [10, 4]}
    for one in (ledger, ledger.progress("labels"), *ledger.entries()):
        assert str(SECRET) not in repr(one)


@pytest.mark.usefixtures("one_run_id")
def test_every_kind_of_ledger_makes_the_same_chain(make: Make) -> None:
    ledgers = (make(), MemoryLedger())
    for ledger in ledgers:
        ledger.open(PLAN, LIMITS)
    one, other = map(finished, ledgers)
    assert one.head == other.head


def test_any_change_to_an_exported_chain_is_seen() -> None:
    ledger = MemoryLedger()
    ledger.open(PLAN, LIMITS)
    lines = finished(ledger).export()
    for number, name in itertools.product(range(len(lines)), lines[0]):
        forged = copy.deepcopy(lines)
        value = forged[number][name]
        forged[number][name] = (
            value + 1 if isinstance(value, int) else {"x": 1} if name == "payload" else "x" + value
        )
        with pytest.raises(LedgerTampered, match="chain is broken"):
            check_export(forged)
    for gone in range(len(lines) - 1):
        with pytest.raises(LedgerTampered):
            check_export(lines[:gone] + lines[gone + 1 :])
    for bad in ([], [{}], [{**lines[0], "payload": 3}]):
        with pytest.raises(LedgerTampered):
            check_export(bad)


def test_a_chain_sealed_anew_still_has_to_add_up() -> None:
    """Whoever recomputes every hash can shorten a chain, but cannot make it break its limits."""
    ledger = MemoryLedger()
    ledger.open(PLAN, LIMITS)
    lines = finished(ledger).export()
    last = {**lines[-1], "payload": canonical(lines[-1]["payload"])}
    del last["hash"]
    for change in (
        {"answered": 3},
        {"all_answered": 2},
        {"most_answered": 9},
        {"answered": 90, "all_answered": 91},
    ):
        forged = Record.sealed(**{**last, **change}).public()
        with pytest.raises(LedgerTampered):
            check_export([*lines[:-1], forged])


@pytest.mark.usefixtures("one_run_id")
def test_a_lost_head_is_seen(make: Make) -> None:
    long, short = make(), make()
    for ledger in (long, short):
        ledger.open(PLAN, LIMITS)
        ledger.append(Entry(START, "labels"))
    seen = short.head
    publish(long, 1)
    long.verify(seen=seen)
    with pytest.raises(LedgerTampered, match="rolled back"):
        short.verify(seen=long.head)


@settings(max_examples=25, deadline=None)
@given(blocks=st.lists(st.lists(st.integers(-1, 3), max_size=6), max_size=8))
def test_whatever_is_asked_the_limits_hold_and_nothing_is_lost(blocks: list[list[int]]) -> None:
    ledger = MemoryLedger()
    ledger.open(PLAN, LIMITS)
    ledger.append(Entry(START, "labels"))
    kept: list[int] = []
    for block in blocks:
        after = [*kept, *block]
        fits = len(after) - after.count(ABSTAIN) <= 10 and after.count(ABSTAIN) <= 4
        if fits:
            publish(ledger, *block)
            kept = after
        else:
            with pytest.raises(BudgetExhausted):
                publish(ledger, *block)
    progress = ledger.progress("labels")
    assert progress.labels.tolist() == kept
    assert (progress.state.answered, progress.state.abstained) == (
        len(kept) - kept.count(ABSTAIN),
        kept.count(ABSTAIN),
    )
    ledger.verify()


def test_answers_are_stored_in_a_size_that_tells_nothing() -> None:
    none, all_of_them = outcomes(room=5), outcomes(1, 2, ABSTAIN, 0, 1, room=5)
    assert [len(part or b"") for part in none.content(5)] == [len(part or b"") for part in all_of_them.content(5)]
    flagged = [outcomes(*[1] * n, fallback=(True,) * n, room=5) for n in (0, 3, 5)]
    assert {tuple(len(part or b"") for part in one.content(one.room)) for one in flagged} == {(5, 5)}
    for one in (*flagged, none, all_of_them):
        again = Answers.read(one.width, *one.content(one.room), len(one.labels))
        assert again.digest == one.digest
    assert len({one.digest for one in (*flagged, none, all_of_them)}) == 5


def test_limits_are_read_off_a_plan() -> None:
    budget, half = Budget(1, 1e-6), Budget(0.5, 0)
    stages = (
        Stage("error", "error-estimate", {"max_answers": 1, "max_abstentions": 0}, half),
        Stage("labels", "btt18", {"max_abstentions": 4, "epochs": 5, "max_questions": 700}, half),
    )
    plan = Plan(("no", "yes"), 100, "add-remove", "record", 900, budget, stages, "")
    assert dict(Limits.of_plan(plan).stages) == {"error": Limit(1, 0), "labels": Limit(700, 5)}
    assert Limit.of({}, 3) == Limit(3, 3)
    assert Limit.of({"max_abstentions": 20, "max_answers": 50}, 30) == Limit(30, 20)
