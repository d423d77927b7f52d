"""Moments and cells rehearsed on a public sample: stand-ins, scaled sums, and forecasts beside whole runs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.moments.contributions import Crowd
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.noise import SeededCoins
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.learn import learn
from mapl.pipeline.learners import Learners
from mapl.pipeline.place import MemoryPlace
from mapl.pipeline.rehearsal.cells import play_cells
from mapl.pipeline.rehearsal.curve import measure_votes
from mapl.pipeline.rehearsal.moments import PlayedRounds
from mapl.pipeline.rehearsal.plans import PublicSample
from mapl.pipeline.rehearsal.stand_ins import draw_stand_ins
from mapl.pipeline.rehearsal.ways import commonest_share, rehearse_way, rehearse_ways
from mapl.pipeline.request import Request
from mapl.pipeline.sums.moments_plan import plan_moments
from mapl.pipeline.sums.summing import follow_rounds
from mapl.planning.planner.answer import answer_question
from mapl.planning.planner.question import Question
from mapl.release import MemoryLedger
from mapl.reproduce.worlds import HalfspaceWorld, LabelNoise
from mapl.teachers import as_learner
from mapl.types import Budget

CLASSES = Classes(("no", "yes"))
WORLD = HalfspaceWorld(4, LabelNoise.massart(0.1))
PUBLIC = 200


def drawn(n: int, seed: int) -> tuple[Any, Any]:
    rows, labels = WORLD.sample(n, np.random.default_rng(seed))
    return rows, np.asarray(labels, dtype=np.int32)


def asked(method: str, n: int, epsilon: float) -> Request:
    return Request(Budget(epsilon, 1e-5), CLASSES, n_rows=n, method=method)


def reached(request: Request, runs: int) -> float:
    """Return the accuracy of whole runs on rows of the same world, against its law."""
    schema, found = draft_schema(drawn(PUBLIC, 1)[0]), []
    for run in range(runs):
        rows, labels = drawn(request.n_rows or 0, 100 + run)
        table, public = PrivateTable(PrivateRows(rows), labels), PublicRows(drawn(PUBLIC, 200 + run)[0], None)
        declared = Declared(schema, "y", CLASSES, None, no_unit=True)
        case = Case(declared, public, lambda table=table: table, ShardKey(bytes(32)), SeededCoins(run))  # type: ignore[misc]
        student = learn(case, request, Learners(), MemoryPlace(lambda prepared: MemoryLedger())).student
        assert student is not None
        fresh, _ = drawn(4000, 300 + run)
        chance = WORLD.regression(fresh)
        found.append(float(np.where(student.predict_codes(fresh) == 1, chance, 1 - chance).mean()))
    return float(np.mean(found))


@pytest.mark.parametrize(("n", "epsilon"), [(800, 0.5), (6000, 0.1), (6000, 1.0)])
def test_moments_are_forecast_within_the_stated_error(n: int, epsilon: float) -> None:
    rows, labels = drawn(2500, 0)
    request = asked("moments", n, epsilon)
    played = rehearse_way("moments", request, draft_schema(rows), rows, labels, n_public=PUBLIC)
    assert played.error < 0.04
    assert abs(played.accuracy - reached(request, 6)) < played.error + 0.01
    assert (played.made_up > 0) <= (n > 2000)


def test_cells_are_played_through_like_a_run() -> None:
    rows, labels = drawn(3000, 0)
    request = asked("cells", 4000, 1.0)
    who = next(draw_stand_ins(3000, n_private=4000, n_public=PUBLIC))
    assert abs(play_cells(request, draft_schema(rows), rows, labels, who, 0) - reached(request, 1)) < 0.05


def test_nobody_plays_two_parts_and_everybody_tests_in_turn() -> None:
    deals = list(islice(draw_stand_ins(1003, n_private=5000, n_public=100), 5))
    for who in deals:
        parts = np.concatenate([who.private, who.public, who.fresh])
        assert len(np.unique(parts)) == len(parts) == 1003
        assert len(who.public) == 100
        assert who.times * len(who.private) == pytest.approx(5000)
        fewer = who.with_fewer_private()
        assert fewer.times * len(fewer.private) == pytest.approx(5000)
        assert set(fewer.private) < set(who.private)
    assert len(np.unique(np.concatenate([who.fresh for who in deals]))) == 1003
    enough = next(draw_stand_ins(1003, n_private=300, n_public=100))
    assert (len(enough.private), enough.times) == (300, 1.0)
    shown = enough.with_public_features().with_fewer_private()
    assert shown.public is shown.private
    assert len(shown.private) == 150
    few = next(draw_stand_ins(1000, n_private=300, n_public=10_000))
    assert len(few.public) == 400


def test_stand_ins_that_count_twice_are_as_good_as_twice_as_many() -> None:
    """Without noise the sums of everybody twice and of everybody counting twice are the same."""
    rows, labels = drawn(400, 0)
    planned = plan_moments(asked("moments", 800, 1.0), rows[:PUBLIC], draft_schema(rows), why="")

    class Silent:
        def standard_normal(self, n: int) -> Any:
            return np.zeros(n)

    once = PlayedRounds(planned, Crowd(PrivateRows(rows), labels, None), 2.0, Silent())  # type: ignore[arg-type]
    both = Crowd(PrivateRows(np.concatenate([rows, rows])), np.concatenate([labels, labels]), None)
    twice = PlayedRounds(planned, both, 1.0, Silent())  # type: ignore[arg-type]
    a, b = follow_rounds(planned, once).known.weights, follow_rounds(planned, twice).known.weights
    np.testing.assert_allclose(a, b, atol=1e-9)


def sample_of(rows: Any, labels: Any) -> PublicSample:
    learner = as_learner(GaussianNB(), CLASSES)
    measured = measure_votes(learner, rows, labels, n_classes=2, n_teachers=10)
    return PublicSample(learner, rows, labels, measured, CLASSES, draft_schema(rows), "sick")


def test_the_answer_has_rehearsed_ways_and_the_commonest_class() -> None:
    sample = sample_of(*drawn(400, 0))
    question = Question(delta=1e-6, epsilon=1.0, rows=3000, queries=100, measured=sample.measured)
    found = answer_question(question, None, adjacency="a", unit="u")
    found = replace(found, others=tuple(way for way in found.others if way.method == "moments"))
    played = rehearse_ways(found, sample, progress=lambda what, total: nullcontext())
    (moments,) = played.others
    assert moments.forecast == "rehearsed"
    assert 0.75 < (moments.student_accuracy or 0.0) < 0.95
    assert moments.error is not None
    assert any("points follow from what is lost with half" in words for words in moments.assumes)
    assert played.ways[0] == moments
    said = played.to_dict()
    assert said["commonest_class"] == commonest_share(sample.labels)
    assert "--label sick --classes no,yes" in said["ways"][0]["command"]


def test_a_way_that_cannot_be_rehearsed_has_no_figure() -> None:
    rows, labels = drawn(1000, 0)
    sample = sample_of(rows, labels)
    question = Question(delta=1e-6, epsilon=1.0, rows=3000, queries=100, measured=sample.measured)
    found = answer_question(question, None, adjacency="a", unit="u")
    alike = replace(sample, rows=np.zeros_like(rows))
    only = replace(found, others=tuple(way for way in found.others if way.method == "cells"))
    (cells,) = rehearse_ways(only, alike, progress=lambda what, total: nullcontext()).others
    assert cells.student_accuracy is cells.forecast is None
    assert cells.assumes[0].startswith("It could not be rehearsed on the public sample: ")
