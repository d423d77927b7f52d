"""Several labels in one run: one plan, one ledger, one price; resumed where it was killed; one vote per unit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter, LedgerError, PlanMismatch
from mapl.noise import SystemCoins
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort, collect_votes
from mapl.pipeline.votes.multi_label_plan import plan_labels
from mapl.pipeline.votes.multi_labelling import ALL, release_all_labels, shards_of_labels
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.teachers import as_learner
from mapl.teachers.learners.label_by_label import LabelByLabel, repeat_questions
from mapl.types import ABSTAIN, Budget

CLASSES = Classes(("0", "1"))
NAMES = ("first", "second", "third")
KEY = ShardKey(bytes(32))
EFFORT = Effort(n_jobs=1)
REQUEST = Request(Budget(8.0, 1e-4), CLASSES, n_teachers=60, mechanism="ladder", settings={"max_abstentions": 4})


def rule(X: Any, y: Any) -> Any:
    column = int(np.argmax(abs((X * (2 * np.asarray(y)[:, None] - 1)).mean(axis=0))))
    return lambda rows: (rows[:, column] > 0).astype(int)


LEARNER = as_learner(rule, CLASSES)


def world(n: int, seed: int = 0) -> tuple[Any, Any]:
    rows = np.random.default_rng(seed).normal(size=(n, 3))
    rows += np.sign(rows)
    return rows, (rows > 0).astype(np.int32)


@pytest.fixture(scope="module")
def people() -> PrivateTable:
    rows, labels = world(1800)
    return PrivateTable(PrivateRows(rows), labels)


QUESTIONS, TRUTH = world(40, seed=1)


def test_all_labels_are_released_and_paid_together(people: PrivateTable) -> None:
    planned = plan_labels(REQUEST, NAMES, len(QUESTIONS))
    ledger = MemoryLedger()
    sharded = shards_of_labels(people, KEY, 60, "add-remove")
    found = release_all_labels(
        sharded, QUESTIONS, planned, LEARNER, Workplace(ledger), coins=SystemCoins(), effort=EFFORT
    )
    answered = found.labels != ABSTAIN
    assert answered.mean() > 0.8
    assert (found.labels == TRUTH)[answered].all()  # a ladder publishes the winner, and these teachers agree
    said = found.statement
    assert said.guaranteed_epsilon <= 8.0
    assert said.epsilon <= said.guaranteed_epsilon
    # A share is no price: each label alone costs more, so none is said to cost its share.
    (stage,) = said.stages
    assert (stage.name, stage.epsilon, stage.delta) == (ALL, said.guaranteed_epsilon, said.delta)
    alone = planned.shared.mechanisms[0].epsilon(None, said.delta / len(NAMES))
    assert alone > 1.3 * said.guaranteed_epsilon / len(NAMES)
    assert said.queries == 120
    assert said.answered == answered.sum()
    assert "labels of 3 kinds (first, second, third)" in said.in_plain_words
    assert [stage.name for stage in planned.plan.stages] == list(NAMES)
    # Each label has more than its linear share, and all of them together no more than the budget.
    assert planned.shared.alone[0].epsilon > 1.3 * 8.0 / 3
    ledger.verify()


class Dying:
    """A ledger that fails when a stage is to be recorded, as a full disk would."""

    def __init__(self, whole: Ledger, stage: str) -> None:
        self._whole, self._stage = whole, stage

    def append(self, entry: Any, **more: Any) -> None:
        if entry.stage == self._stage and entry.kind != "start":
            raise LedgerError("no space left")
        self._whole.append(entry, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


def test_a_killed_run_goes_on_where_it_was(people: PrivateTable, tmp_path: Path) -> None:
    planned = plan_labels(REQUEST, NAMES, len(QUESTIONS))
    sharded = shards_of_labels(people, KEY, 60, "add-remove")
    ballot = tmp_path / "ballot.npz"

    def run(ledger: Any, learner: Any) -> Any:
        place = Workplace(ledger, ballot)
        return release_all_labels(sharded, QUESTIONS, planned, learner, place, coins=SystemCoins(), effort=EFFORT)

    def never(X: Any, y: Any) -> Any:
        raise AssertionError("a teacher was trained again")

    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(LedgerError):
            run(Dying(ledger, "second"), LEARNER)
        first = ledger.progress("first").labels.copy()
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        found = run(ledger, as_learner(never, CLASSES))
        np.testing.assert_array_equal(found.released.labels, first)
        answered = found.labels != ABSTAIN
        assert (found.labels == TRUTH)[answered].all()
        again = run(ledger, as_learner(never, CLASSES))
        np.testing.assert_array_equal(again.labels, found.labels)
        ledger.verify()
        other = replace(REQUEST, budget=Budget(9.0, 1e-4))
        with pytest.raises(PlanMismatch):
            release_all_labels(
                sharded,
                QUESTIONS,
                plan_labels(other, NAMES, len(QUESTIONS)),
                LEARNER,
                Workplace(ledger, ballot),
                coins=SystemCoins(),
                effort=EFFORT,
            )


def test_without_one_person_at_most_one_teacher_changes_all_its_votes() -> None:
    rows, labels = world(120)
    learner = LabelByLabel(LEARNER, 3)
    for gone in range(2):
        kept = np.arange(120) != gone
        ballots = [
            collect_votes(
                shards_of_labels(PrivateTable(PrivateRows(rows[some]), labels[some]), KEY, 10, "add-remove"),
                repeat_questions(QUESTIONS, 3),
                learner,
                Workplace(MemoryLedger()),
                2,
                EFFORT,
            )
            for some in (np.ones(120, dtype=np.bool_), kept)
        ]
        before, after = (one.tallies().counts for one in ballots)
        assert abs(before - after).max() <= 1  # one moved vote per question and label


def test_weights_are_public_and_change_the_plan() -> None:
    alike, other = (plan_labels(REQUEST, NAMES, 40, weights=w) for w in (None, (2.0, 1.0, 1.0)))
    assert alike.plan.digest != other.plan.digest
    assert other.shared.alone[0].epsilon == pytest.approx(2 * other.shared.alone[1].epsilon)
    assert other.plan.stage("first").budget.epsilon == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("labels", "weights", "words"),
    [((), None, "no label"), (("a", "a"), None, "two of one name"), (("a", "b"), (1.0,), "2 labels and 1 weights")],
)
def test_senseless_labels_are_refused(labels: Any, weights: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        plan_labels(REQUEST, labels, 10, weights=weights)
    with pytest.raises(InvalidParameter, match="error_share"):
        plan_labels(Request(Budget(1.0, 1e-5), CLASSES, n_teachers=10, error_share=0.1), ("a",), 10)
