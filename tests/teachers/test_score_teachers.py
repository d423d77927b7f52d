"""Teachers that send scores: whatever becomes of a teacher, it has one score per question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.identities import Identities
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.scores.scores import TOP
from mapl.teachers import Command, as_learner, rehearse
from mapl.teachers.engine import gather
from mapl.teachers.learners.scores import FALLBACK_SCORE, ScoreBallot, in_steps
from mapl.teachers.learners.shares import score_learner

CLASSES = Classes(("no", "yes"))
TEACHERS = 6


def world() -> tuple[Sharded, np.ndarray[Any, Any]]:
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(600, 2))
    labels = (draws.random(600) < 1 / (1 + np.exp(-3 * rows[:, 0]))).astype(np.int32)
    ids = Identities.gathered([[str(i).encode() for i in range(600)]])
    sharded = Sharded(PrivateRows(rows), labels, ids, Shards(ShardKey(bytes(32)), TEACHERS))
    return sharded, np.array([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]])


def scored(given: Any, **more: Any) -> np.ndarray[Any, Any]:
    sharded, questions = world()
    learner = score_learner(as_learner(given, CLASSES), CLASSES)
    ballot = ScoreBallot(len(questions), TEACHERS)
    return gather(ballot, learner, sharded, questions, n_classes=2, n_jobs=1, **more).scores().marks


@pytest.mark.parametrize("given", [LogisticRegression(), RidgeClassifier(), "logistic", "ridge", "nb"])
def test_scores_follow_the_probability_of_the_second_class(given: Any) -> None:
    marks = scored(given).astype(int)
    assert marks.shape == (3, TEACHERS)
    assert (marks[0] < marks[2]).all()
    if given not in ("nb",):
        assert abs(marks[1].mean() - 500) < 150


def a_function(X: Any, y: Any) -> Any:
    share = (y == "yes").mean()
    return lambda rows: np.full(len(rows), share)


def odd_scores(X: Any, y: Any) -> Any:
    return lambda rows: np.array([np.nan, np.inf, -3.0])


def failing(X: Any, y: Any) -> Any:
    if len(X) > 5:
        raise RuntimeError("private words")
    return lambda rows: np.zeros(len(rows))


def two_scores(X: Any, y: Any) -> Any:
    return lambda rows: np.zeros(2)


def test_functions_return_probabilities() -> None:
    marks = scored(a_function)
    assert (marks == marks[0]).all()
    assert 300 < marks.mean() < 700


def test_what_is_no_probability_is_cut_off_or_the_fallback_score() -> None:
    assert (scored(odd_scores) == np.array([[FALLBACK_SCORE], [TOP], [0]])).all()


@pytest.mark.parametrize("given", [failing, two_scores])
def test_a_teacher_that_fails_has_the_fallback_score(given: Any) -> None:
    assert (scored(given) == FALLBACK_SCORE).all()


def test_a_rehearsal_takes_scores_for_scores() -> None:
    _, questions = world()
    rehearse(score_learner(as_learner("logistic", CLASSES), CLASSES), questions, 2, n_jobs=1)
    with pytest.raises(InvalidParameter, match="rehearsal on public rows"):
        rehearse(score_learner(as_learner(two_scores, CLASSES), CLASSES), questions, 2, n_jobs=1)


def test_learners_without_probabilities_are_refused() -> None:
    for given in (LinearSVC(), Command("cat {shard} {queries} {votes}")):
        with pytest.raises(InvalidParameter, match="tells no probabilities"):
            score_learner(as_learner(given, CLASSES), CLASSES)


def test_steps() -> None:
    assert in_steps(np.array([0.0, 0.0004, 0.5, 1.0, 2.0, -1.0, np.nan])).tolist() == [0, 0, 500, TOP, TOP, 0, -1]


def test_one_teacher_is_one_column() -> None:
    one, two = (ScoreBallot(4, 3) for _ in range(2))
    for k in range(3):
        one.cast(k, np.array([1, 2, 3, 4]))
        two.cast(k, None if k == 1 else np.array([1, 2, 3, 4]))
    assert np.flatnonzero((one.scores().marks != two.scores().marks).any(axis=0)).tolist() == [1]


def test_nobody_is_heard_twice_and_nothing_is_told_before_all_were(tmp_path: Path) -> None:
    ballot = ScoreBallot(2, 2)
    ballot.cast(0, np.array([TOP + 1, 7]))
    with pytest.raises(GuaranteeBroken, match="twice"):
        ballot.cast(0, None)
    with pytest.raises(GuaranteeBroken, match="exactly once"):
        ballot.cast(1, np.array([1]))
    with pytest.raises(GuaranteeBroken, match="Not every teacher"):
        ballot.scores()
    ballot.save(tmp_path / "ballot.npz")
    again = ScoreBallot.load(tmp_path / "ballot.npz")
    assert again.missing() == [1]
    again.cast(1, None)
    assert again.scores().marks.tolist() == [[FALLBACK_SCORE, FALLBACK_SCORE], [7, FALLBACK_SCORE]]
    assert "7" not in repr(again)
    assert (tmp_path / "ballot.npz").stat().st_mode & 0o077 == 0


def test_damaged_ballots_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ballot.npz"
    with pytest.raises(InvalidData, match="missing or damaged"):
        ScoreBallot.load(path)
    np.savez(path, marks=np.full((2, 2), TOP + 1, dtype=np.uint16), heard=np.zeros(2, dtype=np.bool_))
    with pytest.raises(InvalidData, match="add up"):
        ScoreBallot.load(path)
    np.savez(path, counts=np.zeros(3))
    with pytest.raises(InvalidData, match="missing or damaged"):
        ScoreBallot.load(path)


def test_teachers_that_were_heard_are_not_asked_again(tmp_path: Path) -> None:
    sharded, questions = world()
    learner = score_learner(as_learner("logistic", CLASSES), CLASSES)
    whole = scored("logistic")
    part = ScoreBallot(3, TEACHERS)
    for k in range(3):
        part.cast(k, np.array([1, 2, 3]))
    resumed = gather(part, learner, sharded, questions, n_classes=2, n_jobs=1, checkpoint=tmp_path / "b.npz")
    assert (resumed.scores().marks[:, :3] == [[1], [2], [3]]).all()
    assert np.array_equal(resumed.scores().marks[:, 3:], whole[:, 3:])
    assert ScoreBallot.load(tmp_path / "b.npz").n_voted == TEACHERS
