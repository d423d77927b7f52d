"""One contract for every ledger that serves questions as they come: asked once, counted once, told the same."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidParameter, LedgerError, PlanMismatch
from mapl.mechanisms import Task
from mapl.mechanisms import make as make_mechanism
from mapl.noise import SeededCoins
from mapl.release.ledger.chain import HALTED, START, Entry, check_export
from mapl.release.ledger.inquiries import NOT_ASKED, Inquiry, KeyRecord, OnlineLedger, Refused, Reply
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.loop import aggregate, begin_stage
from mapl.release.spend import begin
from mapl.types import ABSTAIN, Budget, Outcome, Secret, State, Tallies

PLAN = "d" * 64
QUESTIONS = 12
LIMITS = Limits.of({"labels": Limit(QUESTIONS, 4)})
SECRET = 31_415_926

Make = Callable[[], OnlineLedger]


def digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


def ask(id: str, *questions: str, caller: str = "ann", body: str = "") -> Inquiry:
    return Inquiry(id, caller, digest(body or " ".join(questions)), tuple(map(digest, questions)))


class Teller:
    """Decides as a mechanism would: it answers, abstains where told to, and halts in time."""

    def __init__(self, *hard: str, most_abstained: int = 4) -> None:
        self.hard, self.most = set(map(digest, hard)), most_abstained
        self.blocks: list[list[bytes]] = []
        self.states: list[State] = []

    def __call__(self, state: State, new: Sequence[bytes]) -> Outcome:
        self.blocks.append(list(new))
        self.states.append(state)
        labels: list[int] = []
        abstained = state.abstained
        for one in new:
            if abstained == self.most:
                break
            labels.append(ABSTAIN if one in self.hard else one[0] % 3)
            abstained += one in self.hard
        new_abstained = abstained - state.abstained
        secret = Secret(SECRET + len(self.blocks))
        halted = abstained == self.most
        after = state.after(len(labels) - new_abstained, new_abstained, halted=halted, secret=secret)
        return Outcome(np.array(labels, dtype=np.int32), after)


def answer(question: str) -> int:
    return digest(question)[0] % 3


def begun(ledger: OnlineLedger) -> OnlineLedger:
    ledger.open(PLAN, LIMITS)
    ledger.append(Entry(START, "labels", payload={"questions": QUESTIONS}), secret=Secret(SECRET))
    return ledger


@pytest.fixture
def ledger(make: Make) -> OnlineLedger:
    return begun(make())


def told(replies: Sequence[Reply | Refused | None]) -> list[Any]:
    return [one.labels.tolist() if isinstance(one, Reply) else one for one in replies]


def exchange(ledger: OnlineLedger, decide: Teller, *inquiries: Inquiry) -> list[Any]:
    return told(ledger.exchange("labels", inquiries, decide, n_classes=3))


def test_a_group_is_one_entry_and_everyone_is_told(ledger: OnlineLedger) -> None:
    decide = Teller("hard")
    said = exchange(ledger, decide, ask("1", "a"), ask("2", "hard", "b", "a"), ask("3", "b", "b", caller="bob"))
    assert said == [[answer("a")], [ABSTAIN, answer("b"), answer("a")], [answer("b")] * 2]
    assert decide.blocks == [[digest("a"), digest("hard"), digest("b")]]
    assert decide.states == [State(secret=Secret(SECRET))]
    assert len(ledger.entries()) == 3
    assert ledger.spending("labels") == State(2, 1)
    assert ledger.progress("labels").state == State(2, 1, secret=Secret(SECRET + 1))
    assert ledger.progress("labels").labels.tolist() == [answer("a"), ABSTAIN, answer("b")]
    ledger.verify()


def test_a_question_is_asked_once_whoever_asks_again(ledger: OnlineLedger) -> None:
    decide = Teller()
    exchange(ledger, decide, ask("1", "a", "b"))
    assert exchange(ledger, decide, ask("2", "b", caller="bob"), ask("3", "c", "a")) == [
        [answer("b")],
        [answer("c"), answer("a")],
    ]
    assert decide.blocks == [[digest("a"), digest("b")], [digest("c")]]
    assert decide.states[1] == State(2, secret=Secret(SECRET + 1))
    before = ledger.head
    assert exchange(ledger, decide, ask("4", "a", "c")) == [[answer("a"), answer("c")]]
    assert ledger.head == before
    assert ledger.known([digest("a"), digest("never")]) == {digest("a"): answer("a")}


def test_the_same_id_and_body_has_its_reply_and_another_body_is_refused(ledger: OnlineLedger) -> None:
    decide = Teller()
    once, other, stranger = ask("1", "a"), ask("1", "b"), ask("1", "a", caller="bob")
    assert exchange(ledger, decide, once, once, other) == [[answer("a")], [answer("a")], Refused.OTHER_BODY]
    assert told(ledger.recall([once, other, stranger, ask("2", "a")])) == [
        [answer("a")],
        Refused.OTHER_BODY,
        Refused.OTHER_BODY,
        None,
    ]
    assert exchange(ledger, decide, other, once, stranger) == [
        Refused.OTHER_BODY,
        [answer("a")],
        Refused.OTHER_BODY,
    ]
    assert decide.blocks == [[digest("a")]]
    reply = ledger.reply("1", "ann")
    assert reply is not None
    assert (reply.id, reply.labels.tolist(), reply.labels.dtype) == ("1", [answer("a")], np.int32)
    assert ledger.reply("1", "bob") is None
    assert ledger.reply("2", "ann") is None


def test_an_inquiry_can_be_stored_after_its_questions_were_answered_in_parts(ledger: OnlineLedger) -> None:
    teller = Teller("b")
    parts = [replace(ask("whole:0", "a", "b"), kept=False), replace(ask("whole:2", "c"), kept=False)]
    for part in parts:
        exchange(ledger, teller, part)
    entries = len(ledger.records(-1, 100))
    whole = ask("whole", "a", "b", "c")
    assert ledger.reply("whole", "ann") is None
    for _ in range(2):
        assert ledger.store(whole) is None
    for other in (ask("whole", "a"), ask("whole", "a", "b", "c", caller="bob")):
        assert ledger.store(other) is Refused.OTHER_BODY
    assert (
        told([ledger.reply("whole", "ann")])
        == told(ledger.recall([whole]))
        == [[answer("a"), ABSTAIN, answer("c")]]
    )
    assert ledger.reply("whole", "bob") is None
    assert (len(ledger.records(-1, 100)), len(teller.blocks)) == (entries, 2)
    exchange(ledger, teller, ask("after", "d"))  # the next entry names the seal of what is stored
    ledger.verify()


def test_the_public_number_of_questions_ends_a_stage(ledger: OnlineLedger) -> None:
    decide = Teller()
    many = [f"q{i}" for i in range(QUESTIONS - 2)]
    exchange(ledger, decide, ask("1", *many))
    said = exchange(ledger, decide, ask("2", "x", "q0"), ask("3", "y", "z", "x"), ask("4", "z"), ask("5", "q1"))
    assert said == [
        [answer("x"), answer("q0")],
        [answer("y"), NOT_ASKED, answer("x")],
        [NOT_ASKED],
        [answer("q1")],
    ]
    assert decide.blocks[-1] == [digest("x"), digest("y")]
    head = ledger.head
    assert exchange(ledger, decide, ask("6", "new"), ask("7", "q3", "new")) == [
        [NOT_ASKED],
        [answer("q3"), NOT_ASKED],
    ]
    assert (len(decide.blocks), ledger.head, ledger.spending("labels")) == (2, head, State(QUESTIONS))
    # Who came too late for everything left no trace; the others are told the same again.
    assert told(ledger.recall([ask("4", "z"), ask("6", "new"), ask("3", "y", "z", "x")])) == [
        None,
        None,
        [answer("y"), NOT_ASKED, answer("x")],
    ]


def test_halting_in_the_middle_of_a_group(ledger: OnlineLedger) -> None:
    decide = Teller("h1", "h2", "h3", "h4")
    said = exchange(ledger, decide, ask("1", "a", "h1"), ask("2", "h2", "h3"), ask("3", "h4", "b"), ask("4", "c"))
    assert said == [[answer("a"), ABSTAIN], [ABSTAIN, ABSTAIN], [ABSTAIN, NOT_ASKED], [NOT_ASKED]]
    assert ledger.spending("labels") == State(1, 4, halted=True)
    assert ledger.entries()[-1].kind == HALTED
    assert exchange(ledger, decide, ask("5", "b"), ask("6", "a"), ask("4", "c")) == [
        [NOT_ASKED],
        [answer("a")],
        [NOT_ASKED],
    ]
    assert len(decide.blocks) == 1
    assert ledger.known([digest("b"), digest("h1")]) == {digest("h1"): ABSTAIN}
    ledger.verify()


def test_a_caller_has_no_more_than_its_cap(ledger: OnlineLedger) -> None:
    for id, most in (("ann", 3), ("bob", None), ("eve", 0)):
        ledger.add_key(KeyRecord(id, "", ("ask",), b"x", most))
    decide = Teller()
    assert exchange(ledger, decide, ask("1", "a", "b", "a")) == [[answer("a"), answer("b"), answer("a")]]
    said = exchange(
        ledger, decide, ask("2", "c", "d"), ask("3", "c", caller="bob"), ask("4", "c", "a"), ask("5", "d")
    )
    assert said == [Refused.CALLER_LIMIT, [answer("c")], [answer("c"), answer("a")], [answer("d")]]
    assert exchange(ledger, decide, ask("6", "e"), ask("7", "a"), ask("8", "a", caller="eve")) == [
        Refused.CALLER_LIMIT,
        [answer("a")],
        [answer("a")],
    ]
    assert exchange(ledger, decide, ask("9", "e", caller="eve")) == [Refused.CALLER_LIMIT]
    assert {key.id: key.taken for key in list(ledger.keys())} == {"ann": 3, "bob": 1, "eve": 0}
    # A refusal leaves the id free.
    assert told(ledger.recall([ask("2", "c", "d")])) == [None]
    assert exchange(ledger, decide, ask("6", "e", caller="bob")) == [[answer("e")]]


def test_a_revoked_key_asks_nothing_new_whatever_is_under_way(ledger: OnlineLedger) -> None:
    """A capped key was rotated while a request of it was at work: both together asked more than the cap."""
    decide = Teller()
    for id, most in (("ann", 3), ("bob", None)):
        ledger.add_key(KeyRecord(id, "", ("ask",), b"x", most))
        assert exchange(ledger, decide, ask(f"{id} 1", "a", caller=id)) == [[answer("a")]]
        ledger.revoke_key(id)
        assert exchange(ledger, decide, ask(f"{id} 2", "a", caller=id)) == [[answer("a")]]
        assert exchange(ledger, decide, ask(f"{id} 3", id, caller=id)) == [Refused.CALLER_LIMIT]
    assert {key.id: (key.taken, key.room) for key in list(ledger.keys())} == {"ann": (1, 0), "bob": (0, 0)}


def test_keys_are_given_once_and_revoked_for_good(ledger: OnlineLedger) -> None:
    key = KeyRecord("k2", "a shop", ("ask", "read"), b"\x00\xff", 5)
    ledger.add_key(key)
    ledger.add_key(KeyRecord("k1", "", (), b""))
    assert ledger.keys() == [KeyRecord("k1", "", (), b""), key]
    with pytest.raises(InvalidParameter, match="given once"):
        ledger.add_key(replace(key, most=500))
    ledger.revoke_key("k2")
    ledger.revoke_key("k2")
    assert ledger.key("k2") == replace(key, revoked=True)
    assert ledger.key("k3") is None
    with pytest.raises(InvalidParameter, match="no key with this id"):
        ledger.revoke_key("k3")
    assert "xff" not in repr(ledger.key("k2"))


def test_a_decision_that_fails_leaves_nothing(ledger: OnlineLedger) -> None:
    before = (ledger.export(), ledger.keys())

    def fails(state: State, new: Sequence[bytes]) -> Outcome:
        raise ZeroDivisionError

    def miscounts(state: State, new: Sequence[bytes]) -> Outcome:
        return Outcome(np.zeros(len(new), np.int32), state.after(0, 0, halted=False))

    def overdoes(state: State, new: Sequence[bytes]) -> Outcome:
        return Outcome(np.zeros(len(new) + 1, np.int32), state.after(len(new) + 1, 0, halted=False))

    def overspends(state: State, new: Sequence[bytes]) -> Outcome:
        return Outcome(np.full(len(new), ABSTAIN, np.int32), state.after(0, len(new), halted=False))

    for decide, error in (
        (fails, ZeroDivisionError),
        (miscounts, GuaranteeBroken),
        (overdoes, GuaranteeBroken),
        (overspends, BudgetExhausted),
    ):
        with pytest.raises(error):
            ledger.exchange("labels", [ask("1", "a", "b", "c", "d", "e")], decide, n_classes=3)
    assert (ledger.export(), ledger.keys()) == before
    assert told(ledger.recall([ask("1", "a", "b", "c", "d", "e")])) == [None]
    assert ledger.known([digest("a")]) == {}
    assert exchange(ledger, Teller(), ask("1", "a")) == [[answer("a")]]


def test_without_a_plan_or_a_start_nothing_is_asked(make: Make) -> None:
    ledger = make()
    for _ in range(2):
        with pytest.raises(LedgerError, match="has not begun"):
            exchange(ledger, Teller(), ask("1", "a"))
        ledger.open(PLAN, LIMITS)
    with pytest.raises(PlanMismatch, match="no stage"):
        ledger.append(Entry(START, "other"))


def test_a_digest_has_its_length(ledger: OnlineLedger) -> None:
    for bad in (Inquiry("1", "ann", b"short", (digest("a"),)), Inquiry("1", "ann", digest("a"), (b"short",))):
        with pytest.raises(InvalidParameter, match="32 bytes"):
            ledger.exchange("labels", [bad], Teller(), n_classes=3)


def test_an_inquiry_without_questions_is_told_nothing(ledger: OnlineLedger) -> None:
    assert exchange(ledger, Teller(), ask("1")) == [[]]
    assert ledger.exchange("labels", [], Teller(), n_classes=3) == []


def test_the_chain_can_be_read_in_parts_and_holds_no_secret(ledger: OnlineLedger) -> None:
    for i in range(3):
        exchange(ledger, Teller(), ask(str(i), f"q{i}"))
    everything = ledger.entries()
    assert ledger.records(-1, 100) == everything
    assert ledger.records(1, 2) == everything[2:4]
    assert ledger.records(4, 10) == []
    exported = json.dumps(ledger.export())
    assert str(SECRET)[:6] not in exported
    assert check_export(json.loads(exported)) == ledger.head
    told = everything[-1].told()
    assert told.keys() == {"asked", "taken", "inquiries"}
    assert told["asked"] == sha256(digest("q2")).hexdigest()
    assert told["taken"] == sha256(digest("q2") + b'{"ann":1}').hexdigest()


def test_it_says_whether_it_lives(make: Make) -> None:
    ledger = make()
    with pytest.raises(LedgerError):
        ledger.alive()
    begun(ledger)
    head = ledger.head
    ledger.alive()
    assert ledger.head == head
    assert exchange(ledger, Teller(), ask("1", "a")) == [[answer("a")]]


def test_threads_take_turns(ledger: OnlineLedger) -> None:
    decide = Teller()

    def many(caller: str) -> list[Any]:
        groups = [[ask(f"{caller} {i}", f"{caller} {i}", "shared", caller=caller)] for i in range(5)]
        return [told(ledger.exchange("labels", group, decide, n_classes=3))[0] for group in groups]

    with ThreadPoolExecutor(6) as pool:
        said = [labels for one in pool.map(many, "abcdef") for labels in one]
    assert {labels[1] for labels in said} == {answer("shared")}
    assert sum(labels[0] != NOT_ASKED for labels in said) == QUESTIONS - 1
    asked = [one for block in decide.blocks for one in block]
    assert len(asked) == len(set(asked)) == QUESTIONS
    assert [state.answered for state in decide.states] == sorted({state.answered for state in decide.states})
    ledger.verify()


def test_of_two_that_begin_a_stage_the_first_counts(make: Make) -> None:
    ledger = make()
    ledger.open(PLAN, LIMITS)
    entry = Entry(START, "labels", payload={"questions": QUESTIONS})

    def slow() -> State:
        ledger.append(entry, secret=Secret(1))  # another server begins meanwhile
        return State(secret=Secret(2))

    assert begin(ledger, entry, slow).state.secret == Secret(1)
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("name", ["ladder", "threshold-ladder", "noisy-max"])
def test_groups_of_questions_give_what_blocks_of_a_batch_give(make: Make, name: str) -> None:
    """With one stream of coins an exchange is a step of the one loop."""
    leads = np.random.default_rng(5).integers(0, 126, 40)
    votes = Tallies.checked(np.stack([125 + leads, 125 - leads], axis=1))
    task = Task(Budget(2, 1e-5), 250, 2, len(votes))
    mechanism = make_mechanism(name, task, **({} if name == "noisy-max" else {"max_abstentions": 6}))
    batch = aggregate(votes, mechanism, SeededCoins(1), block_rows=7)
    ledger, coins = make(), SeededCoins(1)
    ledger.open(PLAN, Limits.of({"labels": Limit(len(votes), len(votes))}))
    begin_stage(ledger, mechanism, coins, task)
    row = {digest(str(i)): i for i in range(len(votes))}

    def decide(state: State, new: Sequence[bytes]) -> Outcome:
        return mechanism.release(state, Tallies(votes.counts[[row[one] for one in new]]), coins)

    said: list[int] = []
    for start in range(0, len(votes), 7):
        group = [ask(str(i), str(i)) for i in range(start, min(start + 7, len(votes)))]
        replies = ledger.exchange("labels", group, decide, n_classes=2)
        said += [int(one.labels[0]) for one in replies if isinstance(one, Reply)]
    assert said == [*batch.labels.tolist(), *[NOT_ASKED] * batch.not_asked]
    assert batch.abstained == 0 or name != "noisy-max"
    assert ledger.spending("labels") == batch.state
    assert ledger.progress("labels").labels.tolist() == batch.labels.tolist()


groups = st.lists(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["ann", "bob"]), st.lists(st.integers(0, 20), max_size=4)),
        max_size=4,
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(asked=groups)
def test_whatever_is_asked_a_question_has_one_outcome_and_counters_are_true(
    asked: list[list[tuple[int, str, list[int]]]],
) -> None:
    hard = [f"q{i}" for i in range(0, 20, 5)]
    decides = [Teller(*hard), Teller(*hard)]
    with tempfile.TemporaryDirectory() as folder, SqliteLedger(Path(folder) / "l") as file:
        ledgers: list[OnlineLedger] = [MemoryLedger(), file]
        for one in ledgers:
            begun(one).add_key(KeyRecord("ann", "", ("ask",), b"", 5))
        published: dict[bytes, int] = {}
        for group in asked:
            inquiries = [ask(f"{id} {who}", *(f"q{i}" for i in what), caller=who) for id, who, what in group]
            said = [
                one.exchange("labels", inquiries, decide, n_classes=3)
                for one, decide in zip(ledgers, decides, strict=True)
            ]
            assert told(said[0]) == told(said[1])
            for inquiry, reply in zip(inquiries, said[0], strict=True):
                if not isinstance(reply, Reply):
                    continue
                for question, code in zip(inquiry.questions, reply.labels.tolist(), strict=True):
                    if code != NOT_ASKED:
                        assert published.setdefault(question, code) == code
            assert told(ledgers[0].recall(inquiries)) == told(ledgers[1].recall(inquiries))
        decided_once = [one for block in decides[0].blocks for one in block]
        assert len(decided_once) == len(set(decided_once))
        for one in ledgers:
            state = one.spending("labels")
            assert state.answered == sum(code >= 0 for code in published.values())
            assert state.abstained == sum(code == ABSTAIN for code in published.values())
            assert [key.taken <= 5 for key in list(one.keys())] == [True]
            one.verify(seen=one.head)
        # But for the id of the run, both have the same chain.
        assert [entry["answers"] for entry in file.export()] == [e["answers"] for e in ledgers[0].export()]
