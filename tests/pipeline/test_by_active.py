"""Active questions from plan to statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mapl.data.tables.classes import Classes
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.noise import SeededCoins
from mapl.pipeline.methods.active import ask
from mapl.pipeline.request import Request
from mapl.pipeline.votes.active_plan import CONSENSUS, QUESTIONS, PlannedQuestions, plan_questions
from mapl.planning.plan import Plan
from mapl.release import Limits, MemoryLedger
from mapl.release.label_service import ROWS
from mapl.students.active import Active, Pool
from mapl.types import ABSTAIN, Budget, Tallies

K, N = 100, 120
SERVICES = ("link", "noisy-max", "ladder", "hybrid", "lzcw21-gaussian")


def request(**more: Any) -> Request:
    settings: dict[str, Any] = {"n_teachers": K, "n_queries": 30, **more}
    return Request(Budget(6.0, 1e-5), settings.pop("classes", Classes(("no", "yes"))), **settings)


def room(n_classes: int = 2) -> tuple[Pool, Tallies]:
    draws = np.random.default_rng(4)
    rows = draws.normal(size=(N, 3))
    scores = np.exp(3 * rows[:, :n_classes])
    counts = np.array([draws.multinomial(K, one / one.sum()) for one in scores])
    return Pool(rows, n_classes, np.full(N, ABSTAIN, dtype=np.int32)), Tallies.checked(counts)


def opened(plan: PlannedQuestions) -> MemoryLedger:
    ledger = MemoryLedger()
    ledger.open(plan.plan.digest, Limits.of_plan(plan.plan))
    return ledger


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("choice", ["margin", "robust-cal"])
def test_a_whole_run_keeps_its_plan(service: str, choice: str) -> None:
    plan = plan_questions(request(), Active(choice, service), N)
    (pool, votes), ledger = room(), opened(plan)
    asked = ask(votes, pool, plan, ledger, coins=SeededCoins(1))
    said, labelled = asked.labelled.statement, asked.labelled
    assert said.guaranteed_epsilon <= 6.0
    assert said.epsilon <= said.guaranteed_epsilon
    assert said.delta <= 1e-5
    assert (said.plan_digest, said.ledger_head) == (plan.plan.digest, ledger.head)
    assert len(ledger.progress(QUESTIONS).labels) <= 30
    assert len(np.unique(labelled.taken)) == len(labelled.taken)
    assert (said.answered, said.abstained) == (labelled.released.answered, labelled.released.abstained)
    # What is learned from holds everything that was released.
    known = labelled.labels != ABSTAIN
    assert (asked.codes[known] == labelled.labels[known]).all()
    ledger.verify()


def test_hybrid_is_two_stages_of_one_budget() -> None:
    plan = plan_questions(request(), Active("margin", "hybrid"), N)
    stages = {stage.name: stage for stage in plan.plan.stages}
    assert [*stages] == [CONSENSUS, QUESTIONS]
    assert stages[CONSENSUS].budget == stages[QUESTIONS].budget == Budget(3.0, 5e-6)
    assert (stages[CONSENSUS].mechanism, stages[QUESTIONS].mechanism) == ("ladder", "link")
    assert (plan.plan.n_queries, plan.n_asked) == (N, 30)
    assert Plan.from_json(plan.plan.to_json()) == plan.plan
    dearer = replace(stages[QUESTIONS], budget=Budget(3.1, 5e-6))
    with pytest.raises(GuaranteeBroken, match="add up to epsilon"):
        replace(plan.plan, stages=(stages[CONSENSUS], dearer))


def test_hybrid_asks_about_the_rest() -> None:
    plan = plan_questions(request(), Active("margin", "hybrid"), N)
    (pool, votes), ledger = room(), opened(plan)
    asked = ask(votes, pool, plan, ledger, coins=SeededCoins(1))
    ladder = ledger.progress(CONSENSUS)
    n_certain = int((ladder.labels != ABSTAIN).sum())
    assert n_certain > 20
    released = asked.labelled.released
    assert released.fallback is not None
    assert int(released.fallback.sum()) == len(ledger.progress(QUESTIONS).labels) == 30
    assert released.answered == n_certain + 30
    assert [one.name for one in asked.labelled.statement.stages] == [CONSENSUS, QUESTIONS]
    # The ladder publishes winners or nothing, so what it answered is the plurality.
    certain = asked.labelled.taken[~released.fallback & (released.labels != ABSTAIN)]
    assert (asked.codes[certain] == votes.values[certain]).all()


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize("service", ["auto", "hybrid"])
def test_more_classes(n_classes: int, service: str) -> None:
    names = Classes(tuple("abcd"[:n_classes]))
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(N, 4))
    counts = np.array([draws.multinomial(K, one / one.sum()) for one in np.exp(3 * rows[:, :n_classes])])
    pool = Pool(rows, n_classes, np.full(N, ABSTAIN, dtype=np.int32))
    plan = plan_questions(request(classes=names), Active("margin", service), N)
    assert plan.plan.stage(QUESTIONS).mechanism == ("link" if n_classes == 3 else "noisy-max")
    asked = ask(Tallies.checked(counts), pool, plan, opened(plan), coins=SeededCoins(0))
    assert asked.labelled.statement.classes == n_classes
    assert asked.labelled.released.answered >= 30
    with pytest.raises(InvalidParameter, match="robust-cal is for two"):
        plan_questions(request(classes=names), Active("robust-cal"), N)


@pytest.mark.parametrize("service", SERVICES)
def test_bit_exact_from_a_seed(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapl.release.ledger.run_id.SystemCoins", lambda: SeededCoins(1))  # or heads would differ
    plan = plan_questions(request(), Active("margin", service), N)
    results = []
    for _ in range(2):
        pool, votes = room()
        ledger = opened(plan)
        asked = ask(votes, pool, plan, ledger, coins=SeededCoins(7))
        results.append((asked.codes.tobytes(), asked.labelled.asked.tobytes(), ledger.head))
    assert results[0] == results[1]


@pytest.mark.parametrize("service", ["link", "hybrid"])
def test_done_again_it_only_reads(service: str) -> None:
    """With other coins, which would say something else if anything were asked again."""
    plan = plan_questions(request(), Active("margin", service), N)
    (pool, votes), ledger = room(), opened(plan)
    first = ask(votes, pool, plan, ledger, coins=SeededCoins(7))
    head = ledger.head
    again = ask(votes, pool, plan, ledger, coins=SeededCoins(8))
    assert ledger.head == head
    assert again.codes.tobytes() == first.codes.tobytes()
    assert again.labelled.statement == first.labelled.statement


class Dying(MemoryLedger):
    """A ledger whose process is killed at its k-th entry, before that is on record or just after."""

    def __init__(self, k: int, *, after: bool) -> None:
        super().__init__()
        self.k, self.after = k, after

    def append(self, *given: Any, **named: Any) -> None:
        self.k -= 1
        if self.k == 0 and not self.after:
            raise KeyboardInterrupt
        super().append(*given, **named)
        if self.k == 0:
            raise KeyboardInterrupt


def transcript(ledger: MemoryLedger) -> list[tuple[int, int]]:
    """Return the rows that chosen questions were about, and their labels, as they are on record."""
    entries = [one for one in ledger.entries() if one.stage == QUESTIONS]
    rows = [row for one in entries for row in one.told().get(ROWS, ())]
    return list(zip(rows, ledger.progress(QUESTIONS).labels.tolist(), strict=True))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("service", ["link", "hybrid"])
def test_killed_at_every_entry(service: str, after: bool) -> None:
    """What was answered is kept and told again, no row is asked twice, and the limit holds over both lives."""
    plan = plan_questions(request(), Active("robust-cal", service), N)
    pool, votes = room()
    cut_short = 0
    for k in range(1, 60):
        ledger = Dying(k, after=after)
        ledger.open(plan.plan.digest, Limits.of_plan(plan.plan))
        try:
            ask(votes, pool, plan, ledger, coins=SeededCoins(7))
        except KeyboardInterrupt:
            before = transcript(ledger)
            asked = ask(votes, pool, plan, ledger, coins=SeededCoins(8))
            now = transcript(ledger)
            assert now[: len(before)] == before
            assert len({row for row, _ in now}) == len(now) <= 30
            assert all(asked.codes[row] == label for row, label in now)
            cut_short += 0 < len(before) < len(now)
            ledger.verify()
        else:
            break  # it had ended before its k-th entry
    assert k < 59
    assert cut_short >= 3


def test_a_quarter_of_the_pool_by_default() -> None:
    assert plan_questions(request(n_queries=None), Active(), N).n_asked == N // 4
    assert plan_questions(request(n_queries=1000), Active(), N).n_asked == N


def test_teachers_follow_the_whole_budget() -> None:
    """A hybrid's stages have half of it each, and the same teachers."""
    free = request(n_teachers=None, n_rows=10_000)
    plan, hybrid = (plan_questions(free, Active("margin", service), N).plan for service in ("link", "hybrid"))
    assert plan.n_teachers == hybrid.n_teachers == 160


@pytest.mark.parametrize(
    "more",
    [{"mechanism": "link"}, {"error_share": 0.1}, {"may_abstain": True}, {"method": "select:teachers,cells"}],
)
def test_mixtures_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="leave that away, and choose the label service"):
        plan_questions(request(**more), Active(), N)


@pytest.mark.parametrize("wrong", [{"choice": "luck"}, {"service": "majority"}])
def test_unknown_names_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidParameter, match="choose one of"):
        Active(**wrong)
