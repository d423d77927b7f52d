"""Teachers that send a share for every class: one point per question, whatever they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.identities import Identities
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidData, InvalidParameter
from mapl.mechanisms.scores.scores import TOP
from mapl.mechanisms.scores.shares import even_shares
from mapl.teachers import as_learner, rehearse
from mapl.teachers.engine import gather
from mapl.teachers.learners.shares import ShareBallot, in_whole_shares, score_learner

THREE = Classes(("a", "b", "c"))
TEACHERS = 4
QUESTIONS = 2.0 * np.eye(3)
EVEN = even_shares(3).tolist()


def world() -> Sharded:
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(600, 3))
    labels = rows.argmax(axis=1).astype(np.int32)
    ids = Identities.gathered([[str(i).encode() for i in range(600)]])
    return Sharded(PrivateRows(rows), labels, ids, Shards(ShardKey(bytes(32)), TEACHERS))


def shares(given: Any, **more: Any) -> np.ndarray[Any, Any]:
    learner = score_learner(as_learner(given, THREE), THREE)
    ballot = ShareBallot(3, TEACHERS, 3)
    return gather(ballot, learner, world(), QUESTIONS, n_classes=3, n_jobs=1, **more).scores().marks


def a_function(X: Any, y: Any) -> Any:
    return lambda rows: np.tile([0.5, 0.25, 0.25], (len(rows), 1))


def odd(X: Any, y: Any) -> Any:
    return lambda rows: np.array([[np.nan, 1, 0], [-1, 3, 1], [0, 0, 0]])


def one_column(X: Any, y: Any) -> Any:
    return lambda rows: np.zeros(len(rows))


@pytest.mark.parametrize("given", [LogisticRegression(), RidgeClassifier(), "logistic"])
def test_shares_follow_the_classes(given: Any) -> None:
    marks = shares(given)
    assert marks.shape == (3, TEACHERS, 3)
    assert (marks.sum(axis=2) == TOP).all()
    assert (marks.argmax(axis=2) == np.arange(3)[:, None]).all()


def test_functions_have_a_column_for_each_class() -> None:
    assert (shares(a_function) == [500, 250, 250]).all()
    assert (shares(one_column) == EVEN).all()  # a failed teacher
    with pytest.raises(InvalidParameter, match="rehearsal on public rows"):
        rehearse(score_learner(as_learner(one_column, THREE), THREE), QUESTIONS, 3, n_jobs=1)


def test_what_is_no_probability_is_mended_row_by_row() -> None:
    assert (shares(odd)[:, 0] == [EVEN, [0, 750, 250], EVEN]).all()


def test_whole_shares_add_up() -> None:
    given = np.random.default_rng(1).random((500, 7)) ** 4
    whole = in_whole_shares(given)
    assert (whole.sum(axis=1) == TOP).all()
    assert np.abs(whole / TOP - given / given.sum(axis=1, keepdims=True)).max() <= 1 / TOP
    assert (in_whole_shares(np.array([[np.inf, 1.0], [1e308, 1e308]])) == [[-1, -1], [500, 500]]).all()


def test_a_ballot_is_one_point_per_teacher_and_question(tmp_path: Path) -> None:
    one, two = (ShareBallot(2, 2, 3) for _ in range(2))
    for ballot in (one, two):
        ballot.cast(0, np.array([TOP, 0, 0, 1, 1, 1]))
    one.save(tmp_path / "ballot.npz")
    one = ShareBallot.load_shares(tmp_path / "ballot.npz", 3)
    assert (one.n_questions, one.n_classes, one.missing()) == (2, 3, [1])
    one.cast(1, None)
    two.cast(1, np.array([0, TOP, 0, 0, 0, TOP]))
    assert one.scores().marks[:, 0].tolist() == [[TOP, 0, 0], EVEN]
    assert np.flatnonzero((one.scores().marks != two.scores().marks).any(axis=(0, 2))).tolist() == [1]
    with pytest.raises(InvalidData, match="does not add up"):
        ShareBallot.load_shares(tmp_path / "ballot.npz", 4)
    assert "1000" not in repr(one)
