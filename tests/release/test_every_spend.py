"""Every kind of release, from one list: nothing is told before it is on disk, what was told is never drawn anew.

A function that spends and is not in the list, and a record written past `mapl.release.spend`, fail a test here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapl
from mapl.data.moments.contributions import ExactSums
from mapl.errors import LedgerError, MaplError
from mapl.mechanisms import Task, make
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.mechanisms.scores.scores import ScoreGrid, Scores
from mapl.mechanisms.scores.shares import Shares
from mapl.noise import Coins, SeededCoins
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.prices.offers import Wanted, best_offer
from mapl.prediction.spending.many_answers import AnswerBook, Answering, plan_of
from mapl.prediction.spending.one_rule import draw_once, plan_of_release
from mapl.release.best_of import BestOf, select
from mapl.release.cell_counts import CellCounts, release_counts
from mapl.release.error_estimate import ErrorEstimate, estimate_error
from mapl.release.label_service import PrivatePool
from mapl.release.ledger.chain import START, Entry
from mapl.release.ledger.inquiries import Inquiry
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.loop import aggregate, begin_stage
from mapl.release.moment_sums import MomentSums, SumsStage
from mapl.release.private_selection import RandomRepetition, repeat_and_select
from mapl.release.queries.oracle import StableOracle
from mapl.release.queries.query import Named
from mapl.release.soft_labels import MEANS, MEDIANS, SoftDesign, release_soft_labels
from mapl.types import Budget, Outcome, State, Tallies

POINTS = np.arange(40.0)[:, None]
LABELS = (POINTS[:, 0] >= 17).astype(int)
TASK = Task(Budget(4.0, 1e-6), 40, 2, 6)
VOTES = Tallies(np.array([[20, 20], [38, 2], [1, 39], [22, 18], [19, 21], [25, 15]]))


class Killed(BaseException):
    """What ends a process in the middle, whoever would like to catch it."""


class Mortal(SqliteLedger):
    """A ledger whose disk fails, or whose process dies, at the first record that is more than a start."""

    fails = dies = False

    def append(self, entry: Entry, **more: Any) -> None:
        self._before(entry.kind)
        super().append(entry, **more)
        self._after(entry.kind)

    def exchange(self, *asked: Any, **more: Any) -> Any:
        self._before("")
        replies = super().exchange(*asked, **more)
        self._after("")
        return replies

    def _before(self, kind: str) -> None:
        if self.fails and kind != START:
            raise LedgerError("no space left on this device")

    def _after(self, kind: str) -> None:
        if self.dies and kind != START:
            raise Killed


def labels(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"labels": Limit(6, 6)}))
    return aggregate(VOTES, make("link", TASK), coins, ledger=ledger).labels.tolist()


def chosen_labels(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"labels": Limit(6, 6)}))
    return PrivatePool(VOTES, make("link", TASK), TASK, coins, ledger=ledger).ask(np.array([4, 0, 3])).tolist()


def error_rate(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"error": Limit(1, 0)}))
    return estimate_error(ErrorEstimate.for_task(0.5, 9), np.arange(9), coins, ledger=ledger)


def cell_counts(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"counts": Limit(8, 0)}))
    return release_counts(CellCounts(0.1, 4, 2), np.arange(8).reshape(4, 2), coins, ledger=ledger).tolist()


def moment_sums(ledger: SqliteLedger, coins: Coins) -> Any:
    """Three rounds, of which the first to be recorded may be the last thing that happens."""
    ledger.open("p" * 64, Limits.of({"sums": Limit(12, 0)}))
    mechanism = MomentSums((1 << 39,) * 3, (4,) * 3)
    stage = SumsStage(mechanism, "sums", "a" * 64)
    told = stage.begin(coins, ledger)
    while len(told) < 3:
        told = stage.release(ExactSums(4), coins, ledger)
    return [one.tolist() for one in told]


def best(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"selection": Limit(1, 0)}))
    return select(BestOf(0.1, 8), lambda: np.arange(8), coins, ledger=ledger)


def best_of_many(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"selection": Limit(1, 0)}))

    def run(candidate: int) -> tuple[int, Any]:
        return candidate % 3, int(coins.below(np.array([1000]))[0])

    return repeat_and_select(RandomRepetition.with_mean(3, n_candidates=5), run, coins, ledger=ledger)


def single_answers(ledger: SqliteLedger, coins: Coins) -> Any:
    wanted = Wanted(Budget(0.5, 0.0), 5, Thresholds(), "replace-one", len(POINTS))
    offer = best_offer(wanted, "padded-stumps")
    answering = Answering.of(offer, wanted)
    plan = plan_of(answering, wanted, ("no", "yes"))
    ledger.open(plan.digest, Limits.of_plan(plan))
    book, questions = AnswerBook(offer.fit(POINTS, LABELS, coins), answering, ledger, coins), POINTS[14:19]
    book.recall(questions)
    return book.ask(questions).tolist()


def one_rule(ledger: SqliteLedger, coins: Coins) -> Any:
    plan = plan_of_release(Budget(0.5, 0.0), Thresholds(), "replace-one", ("no", "yes"), 9)
    ledger.open(plan.digest, Limits.of_plan(plan))
    drawn = draw_once(
        POINTS,
        LABELS,
        Thresholds(),
        public=POINTS[::5] + 0.5,
        plan=plan,
        adjacency="replace-one",
        ledger=ledger,
        coins=coins,
    )
    return drawn.predict(POINTS).tolist()


def group_of_inquiries(ledger: SqliteLedger, coins: Coins) -> Any:
    ledger.open("p" * 64, Limits.of({"labels": Limit(6, 6)}))
    mechanism = make("link", TASK)
    begin_stage(ledger, mechanism, coins, TASK)

    def decide(state: State, new: Sequence[bytes]) -> Outcome:
        return mechanism.release(state, Tallies(VOTES.counts[: len(new)]), coins)

    questions = tuple(sha256(bytes([i])).digest() for i in range(4))
    (reply,) = ledger.exchange(
        "labels", [Inquiry("one", "ann", sha256(b"").digest(), questions)], decide, n_classes=2
    )
    return reply.labels.tolist()


def soft_labels(ledger: SqliteLedger, coins: Coins) -> Any:
    task = Task(Budget(2.0, 5e-6), 40, 2, 6)
    medians = make("ladder", task, max_abstentions=2)
    design = SoftDesign(medians, ScoreGrid(501, 1), NoisyMean.for_budget(task.budget, 40, max_answers=2))
    ledger.open("p" * 64, Limits.of({MEDIANS: Limit(6, 2), MEANS: Limit(2, 0)}))
    marks = np.full((6, 40), 900)
    marks[:, ::2] = 100  # nobody agrees, so that medians refuse and noise decides about the means
    return release_soft_labels(design, Scores.checked(marks), coins, ledger=ledger).values.tolist()


def soft_shares(ledger: SqliteLedger, coins: Coins) -> Any:
    means = NoisyShares.for_questions(Budget(2.0, 5e-6), 40, n_questions=2, n_shares=3)
    ledger.open("p" * 64, Limits.of({MEANS: Limit(6, 0)}))
    points = np.tile([700, 200, 100], (2, 40, 1))
    return release_soft_labels(
        SoftDesign(means=means), Shares.checked(points), coins, ledger=ledger
    ).values.tolist()


def stable_queries(ledger: SqliteLedger, coins: Coins) -> Any:
    oracle = StableOracle(
        [], epsilon=1.0, delta=1e-6, n_queries=9, max_abstentions=9, mechanism="ladder", ledger=ledger, coins=coins
    )
    near = (oracle.required_distance or 0) * 2 // 3  # answered or declined, as the coins fall
    return oracle.answer(*(Named(f"question {i}", lambda data, i=i: (i, near)) for i in range(9)))


@dataclass(frozen=True)
class Kind:
    """One kind of release: the functions that spend, and a release whose coins would fall otherwise next time."""

    release: Callable[[SqliteLedger, Coins], Any]
    sites: tuple[str, ...]
    resumes: bool = True


KINDS = (
    Kind(labels, ("release/loop.py: step", "release/loop.py: aggregate")),
    Kind(chosen_labels, ("release/label_service.py: PrivatePool.ask",)),
    Kind(soft_labels, ("release/soft_labels.py: release_soft_labels",)),
    Kind(soft_shares, ("release/soft_labels.py: _release_shares",)),
    Kind(stable_queries, ("release/queries/oracle.py: StableOracle._ask",)),
    Kind(error_rate, ("release/error_estimate.py: estimate_error",)),
    Kind(cell_counts, ("release/cell_counts.py: release_counts", "release/cell_counts.py: release_counts.decide")),
    Kind(moment_sums, ("release/moment_sums.py: SumsStage.release",)),
    Kind(best, ("release/best_of.py: select",)),
    Kind(best_of_many, ("release/private_selection.py: repeat_and_select",)),
    Kind(single_answers, ("prediction/spending/many_answers.py: AnswerBook.ask",)),
    # Fits are not resumed: a second one is refused.
    Kind(one_rule, ("prediction/spending/one_rule.py: draw_once",), resumes=False),
    Kind(group_of_inquiries, ("release/ledger/exchange.py: decide_new",)),
)

THROUGH_THEM = {
    "release/spend.py: spend_once": "tests/release/test_every_spend.py",
    "pipeline/votes/labelling.py: release_labels": "tests/pipeline/test_killed_runs.py",
    "pipeline/methods/active.py: _consensus": "tests/pipeline/test_killed_questions.py",
    "pipeline/votes/multi_labelling.py: release_all_labels": "tests/pipeline/test_multi_label.py",
    "cli/releasing/aggregate.py: carry_out": "tests/cli/test_aggregate.py",
    "pipeline/online/waiting.py: WaitingTeachers.ask": "tests/estimators/test_oracle.py",
    "pipeline/rehearsal/student.py: rehearse_run": "tests/pipeline/test_rehearsed_plans.py",
    "audit/runs/teachers_scene.py: TeachersScene.answered": "tests/audit/test_rehearse.py",
    "audit/runs/teachers_scene.py: TeachersScene.released": "tests/audit/test_rehearse.py",
}
"""Who spends by a kind above, on a ledger of its own, and where that is tested; the last three on made-up or public
rows."""


@pytest.fixture(params=KINDS, ids=lambda kind: kind.release.__name__)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def released(kind: Kind, ledger: SqliteLedger, seed: int) -> Any:
    return kind.release(ledger, SeededCoins(seed))


def test_what_cannot_be_recorded_is_not_told_and_not_spent(kind: Kind, tmp_path: Path) -> None:
    with Mortal(tmp_path / "ledger") as ledger:
        ledger.fails = True
        with pytest.raises(LedgerError, match="no space"):
            released(kind, ledger, 1)
        assert sum(record.answered + record.abstained for record in ledger.entries()) == 0
        ledger.verify()


def test_a_killed_run_tells_what_it_had_recorded_and_draws_nothing_anew(kind: Kind, tmp_path: Path) -> None:
    """Three runs die right after their record is durable; each goes on with other coins, and the record counts."""
    changed = []
    for seed in range(3):
        path = tmp_path / f"ledger-{seed}"
        with Mortal(path) as ledger:
            ledger.dies = True
            with pytest.raises(Killed):
                released(kind, ledger, seed)
            spent = [record.hash for record in ledger.entries()]
        with SqliteLedger(path) as ledger:
            if kind.resumes:
                told = released(kind, ledger, 100 + seed)
                assert told == released(kind, ledger, 200 + seed)
            else:
                with pytest.raises(MaplError):
                    released(kind, ledger, 100 + seed)
            assert [record.hash for record in ledger.entries()][: len(spent)] == spent
        with SqliteLedger(tmp_path / f"other-{seed}") as other:
            changed.append(not kind.resumes or released(kind, other, 100 + seed) != told)
    assert any(changed)  # the coins of the second life would have said something else


WAYS = {
    "mapl.release.spend": {"spend", "spend_once", "Decision"},
    "mapl.release.loop": {"step", "aggregate"},
    "mapl.release": {"aggregate"},
}
"""The functions by which anything can be spent, and the modules that they are imported from."""


def called(node: ast.Call) -> str | None:
    """Return the name that a call begins with: `Decision.of(...)` is a call of Decision."""
    function = node.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None


def spending_sites(name: str, tree: ast.Module) -> set[str]:
    """Return the functions of a module, by their full names, that call one of `WAYS`."""
    module = f"mapl.{name.removesuffix('.py').replace('/', '.')}"
    known = set(WAYS.get(module, ())) | {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in WAYS.get(node.module or "", ())
    }
    found: set[str] = set()

    def look(node: ast.AST, within: tuple[str, ...]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = (*within, node.name)
        if isinstance(node, ast.Call) and called(node) in known and within[:1] != ("Decision",):
            found.add(f"{name}: {'.'.join(within)}")
        for child in ast.iter_child_nodes(node):
            look(child, within)

    look(tree, ())
    return found


@cache
def sources() -> dict[str, ast.Module]:
    """Read the modules in which something could be spent: those of `release`, and those that name it."""
    root = Path(mapl.__file__).parent
    texts = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.py")}
    could = re.compile(r"mapl\.release|from mapl import|from \.|Entry")
    return {name: ast.parse(text) for name, text in texts.items() if name[:8] == "release/" or could.search(text)}


def test_every_function_that_spends_is_in_the_list() -> None:
    found = {site for name, tree in sources().items() for site in spending_sites(name, tree)}
    listed = [site for kind in KINDS for site in kind.sites]
    assert found == {*listed, *THROUGH_THEM}
    assert len(listed) == len(set(listed))


def test_what_spends_by_a_listed_kind_has_tests_of_its_own() -> None:
    root = Path(__file__).parents[2]
    assert [path for path in THROUGH_THEM.values() if not (root / path).is_file()] == []


def test_a_second_kind_in_a_listed_file_is_noticed() -> None:
    added = "from mapl.release.spend import spend\ndef select():\n    spend()\ndef another():\n    spend()\n"
    found = spending_sites("release/best_of.py", ast.parse(added))
    assert found == {"release/best_of.py: select", "release/best_of.py: another"}


def test_nobody_makes_entries_of_a_ledger_but_spend() -> None:
    made = {
        name
        for name, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) == "Entry"
    }
    made -= {"mechanisms/registry.py"}  # entries of another kind
    made -= {"release/ledger/key_log.py"}  # who may ask: nothing is spent
    assert made == {"release/spend.py", "release/ledger/chain/chain.py"}  # the chain reads exported ones again
