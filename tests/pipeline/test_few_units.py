"""How many units there are is private: with three or none of them a run comes to its end like any other."""

from __future__ import annotations

import numpy as np
import pytest
from toy_tables import ALWAYS, CLASSES, KEY, asking, private

from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.noise import SeededCoins
from mapl.pipeline.choice.judges import Judges
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import Effort, assign_shards, release_labels
from mapl.pipeline.votes.soft_labelling import plan_soft, soft_label
from mapl.pipeline.votes.teachers_plan import plan_teachers
from mapl.release import MemoryLedger
from mapl.teachers import as_learner, fit_teachers
from mapl.teachers.ballot import FALLBACK
from mapl.teachers.learners.shares import score_learner
from mapl.types import Budget

QUESTIONS = np.linspace(-1, 1, 12)[:, None]
TEACHERS = 60
FEW = [private([], []), private([[0.5]], [1]), private([[0.5], [-0.5], [0.1]], [1, 0, 1], "abc")]
PLENTY = Budget(20.0, 1e-5)


@pytest.mark.parametrize("table", FEW, ids=["none", "one", "three"])
@pytest.mark.parametrize("error_share", [0.0, 0.2])
def test_teachers_without_rows_vote_for_the_fallback(table: PrivateTable, error_share: float) -> None:
    request = Request(PLENTY, CLASSES, n_teachers=TEACHERS, error_share=error_share)
    plan = plan_teachers(request, len(QUESTIONS))
    sharded = assign_shards(table, KEY, TEACHERS, "add-remove")
    made = release_labels(
        *(sharded, QUESTIONS, plan, as_learner("ridge", CLASSES), Workplace(MemoryLedger())),
        coins=SeededCoins(0),
        effort=Effort(n_jobs=1),
    )
    assert made.released.answered == len(QUESTIONS)
    assert (made.labels == FALLBACK).all()


@pytest.mark.parametrize("table", FEW, ids=["none", "one", "three"])
def test_so_do_their_scores(table: PrivateTable) -> None:
    plan = plan_soft(Request(PLENTY, CLASSES, n_teachers=TEACHERS), len(QUESTIONS))
    made = soft_label(
        *(assign_shards(table, KEY, TEACHERS, "add-remove"), QUESTIONS, plan),
        *(score_learner(as_learner("logistic", CLASSES), CLASSES), Workplace(MemoryLedger())),
        coins=SeededCoins(0),
        effort=Effort(n_jobs=1),
    )
    assert made.labelled.released.answered == len(QUESTIONS)


@pytest.mark.parametrize("table", FEW, ids=["none", "one", "three"])
def test_teachers_that_are_kept(table: PrivateTable) -> None:
    sharded = assign_shards(table, KEY, TEACHERS, "add-remove")
    kept = fit_teachers(as_learner("ridge", CLASSES), sharded, n_classes=2, n_jobs=1)
    assert kept.votes(QUESTIONS).counts[:, FALLBACK].tolist() == [TEACHERS] * len(QUESTIONS)


@pytest.mark.parametrize("table", FEW, ids=["none", "one", "three"])
def test_units_that_judge(table: PrivateTable) -> None:
    unit = None if table.unit_ids is None else "person"
    judges = Judges.of(table, asking("add-remove", unit), KEY)
    assert judges.right(None) == 0
    assert sum(judges.right(one) for one in ALWAYS) == len(judges.labels)


def test_too_many_teachers_are_refused_by_what_is_public() -> None:
    with pytest.raises(InvalidParameter, match=r"60 teachers and, as you say, about 59 rows.*Nothing was read"):
        Request(PLENTY, CLASSES, n_teachers=60, n_rows=59)
    Request(PLENTY, CLASSES, n_teachers=60, n_rows=60)
    # Features are public here, hence how many there are; two that are alike are still two.
    alike = private([[0.5]] * 3, [0, 1, 0])
    assign_shards(alike, KEY, 3, "labels")
    with pytest.raises(InvalidParameter, match="4 teachers and fewer privacy units"):
        assign_shards(alike, KEY, 4, "labels")
    assign_shards(alike, KEY, 4, "add-remove")
