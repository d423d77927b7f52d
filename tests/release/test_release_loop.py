"""The one loop and the gate before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from mapl.errors import GuaranteeBroken, InvalidParameter, MaplError
from mapl.mechanisms import REGISTRY, Task, make
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.loop import (
    Released,
    admit,
    aggregate,
    distance_needed,
    refuse_senseless,
    useless,
    within_budget,
)
from mapl.release.statement.promise import promise_of
from mapl.types import ABSTAIN, ADJACENCY, UNIT, Budget, Outcome, Secret, State, Tallies


@dataclass(frozen=True)
class EveryThird:
    """Abstains on every third question it meets, holds a secret, and falls back on request."""

    limit: int
    with_fallback: bool = False
    cost: float = 1.0
    name: ClassVar[str] = "ladder"
    parameters: ClassVar[dict[str, Any]] = {}

    def start(self, coins: Coins) -> State:
        return State(secret=Secret(12345))

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        met = state.answered + state.abstained
        numbers = np.arange(met, met + len(block))
        labels = np.where(numbers % 3 == 2, np.int32(ABSTAIN), block.values)[: self.limit - met]
        abstained = int((labels == ABSTAIN).sum())
        halted = met + len(labels) == self.limit
        after = state.after(len(labels) - abstained, abstained, halted=halted, secret=state.secret)
        return Outcome(labels, after, labels == 1 if self.with_fallback else None)

    def epsilon(self, loss_of: State | None, delta: float) -> float:
        return self.cost


def tallies(n: int, n_classes: int = 3) -> Tallies:
    counts = np.random.default_rng(7).multinomial(9, [1 / n_classes] * n_classes, size=n)
    return Tallies.checked(counts)


@pytest.mark.parametrize("n", [1, 5, 1 << 14, (1 << 14) + 1, 40_000])
def test_blocks_are_joined_in_order(n: int) -> None:
    votes = tallies(n)
    released = aggregate(votes, EveryThird(10**9), SystemCoins())
    expected = np.where(np.arange(n) % 3 == 2, ABSTAIN, votes.values)
    np.testing.assert_array_equal(released.labels, expected)
    assert released.labels.dtype == np.int32
    assert released.fallback is None
    assert (released.answered, released.abstained) == (n - n // 3, n // 3)
    assert (released.not_asked, released.halted) == (0, False)


@pytest.mark.parametrize("limit", [1, 16_383, 16_384, 16_385, 30_000])
def test_a_run_stops_where_the_mechanism_halts(limit: int) -> None:
    released = aggregate(tallies(40_000), EveryThird(limit), SystemCoins())
    assert len(released.labels) == limit
    assert released.halted
    assert released.not_asked == 40_000 - limit


def test_reaching_the_limit_on_the_last_question_is_not_halting_early() -> None:
    released = aggregate(tallies(100), EveryThird(100), SystemCoins())
    assert released.state.halted
    assert not released.halted


def test_fallback_flags_are_kept_and_the_secret_is_not() -> None:
    released = aggregate(tallies(20_000), EveryThird(18_000, with_fallback=True), SystemCoins())
    assert released.fallback is not None
    np.testing.assert_array_equal(released.fallback, released.labels == 1)
    assert released.state.secret is None


def test_the_public_chain_tells_what_was_released_and_nothing_more() -> None:
    """Votes that lead to the same labels leave the same entries, however close they were."""

    def told(counts: list[list[int]]) -> list[Any]:
        ledger = MemoryLedger()
        ledger.open("a plan", Limits.of({"labels": Limit(len(counts), len(counts))}))
        aggregate(Tallies.checked(np.array(counts)), EveryThird(10**9), SystemCoins(), ledger=ledger, block_rows=7)
        return [(one.kind, one.answered, one.abstained, one.told()) for one in ledger.entries()[1:]]

    assert told([[5, 4], [4, 5]] * 20) == told([[9, 0], [0, 9]] * 20)


def test_progress_tells_what_was_taken() -> None:
    seen: list[int] = []
    aggregate(tallies(40_000), EveryThird(35_000), SystemCoins(), on_progress=seen.append)
    assert seen == [16_384, 32_768, 35_000]


def test_batch_is_what_single_questions_give() -> None:
    votes = Tallies.checked(np.array([[200, 50], [130, 120], [240, 10], [126, 124]] * 50))
    ladder = make("ladder", Task(Budget(2, 1e-5), 250, 2, 200), max_abstentions=60)
    batch = aggregate(votes, ladder, SeededCoins(3))
    state, coins, labels = ladder.start(SeededCoins(3)), SeededCoins(3), []
    for block in votes.blocks(1):
        if not state.halted:
            outcome = ladder.release(state, block, coins)
            state = outcome.state
            labels.extend(outcome.labels.tolist())
    assert batch.labels.tolist() == labels
    assert batch.state == state


def test_tallies_are_neither_copied_nor_changed() -> None:
    votes = tallies(50_000)
    before = votes.counts.copy()
    votes.counts.setflags(write=False)
    aggregate(votes, EveryThird(10**9), SystemCoins())
    np.testing.assert_array_equal(votes.counts, before)


def test_the_budget_is_a_gate() -> None:
    within_budget(EveryThird(1, cost=2.0), Budget(2.0, 1e-5))
    with pytest.raises(
        GuaranteeBroken, match=r"costs epsilon 2\.5; allowed is 2 .*delta 1e-05.*Nothing was released"
    ):
        within_budget(EveryThird(1, cost=2.5), Budget(2.0, 1e-5))
    with pytest.raises(GuaranteeBroken):
        within_budget(EveryThird(1, cost=float("nan")), Budget(2.0, 1e-5))


def test_a_refusal_names_the_promise_of_its_run() -> None:
    """Votes alone promise something about a teacher, a private table about a person."""
    people = promise_of("add-remove", "patient_id")
    for refuse in (
        lambda **promise: within_budget(EveryThird(1, cost=2.5), Budget(2.0, 1e-5), **promise),
        lambda **promise: admit(*few(20), **promise),
    ):
        with pytest.raises(MaplError) as of_votes:
            refuse()
        with pytest.raises(MaplError) as of_table:
            refuse(promise=people)
        assert f"adjacency: {ADJACENCY}; unit: {UNIT}" in str(of_votes.value)
        assert f"adjacency: {people.adjacency}; unit: {people.unit}" in str(of_table.value)
        assert "one teacher" not in str(of_table.value)


def test_only_the_plurality_may_cost_infinity() -> None:
    refuse_senseless("majority", Budget(float("inf"), 1e-5))
    with pytest.raises(InvalidParameter, match="promises nothing"):
        refuse_senseless("ladder", Budget(float("inf"), 1e-5))
    with pytest.raises(InvalidParameter, match="promises nothing"):
        within_budget(EveryThird(1), Budget(float("inf"), 1e-5))
    for epsilon in (1e-9, 1e6):
        with pytest.raises(InvalidParameter, match=r"between 0\.001 and 1000"):
            refuse_senseless("ladder", Budget(epsilon, 1e-5))
    with pytest.raises(InvalidParameter, match="0 or at least 1e-15"):
        refuse_senseless("ladder", Budget(1, 1e-30))
    refuse_senseless("ladder", Budget(1, 0))


def few(n_teachers: int) -> tuple[Any, Task]:
    task = Task(Budget(2, 1e-5), n_teachers, 2, 100)
    return make("ladder", task, max_abstentions=10), task


def test_too_few_teachers_are_refused_with_the_number_needed() -> None:
    with pytest.raises(InvalidParameter, match=r"unanimous vote of 20 teachers .* At least 149 teachers would be"):
        admit(*few(20))
    assert admit(*few(250)) is None


def test_papers_mechanisms_only_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "ladder", replace(REGISTRY["ladder"], kind="paper"))
    warning = useless(*few(20))
    assert warning is not None
    assert "unanimous vote of 20 teachers" in warning


def test_the_distance_needed_is_not_cut_at_what_the_teachers_reach() -> None:
    cut, task = few(40)
    assert cut.required_distance(0.99) is None
    assert distance_needed(cut, task) == distance_needed(*few(2000)) == 74


def test_released_is_public_and_complete() -> None:
    released = Released(np.array([0, ABSTAIN], dtype=np.int32), None, State(1, 1), 5)
    assert released.answered + released.abstained + released.not_asked == released.n_questions
