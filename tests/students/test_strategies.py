"""What each strategy makes of questions with and without an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from released_table import public_table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.data.tables.schema import Column, Schema
from mapl.errors import InvalidParameter
from mapl.students import Imputed, Plain, SelfTraining, Voting, train_student
from mapl.students.fitting import Learning
from mapl.students.lesson import Lesson
from mapl.students.strategies.names import strategy_of
from mapl.students.strategies.voting import Voters
from mapl.types import ABSTAIN

TWO = Classes(("no", "yes"))


class Nearest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers with the label of the nearest row, says nothing about how sure it is, and keeps a diary."""

    def __init__(self, diary: Any = None) -> None:
        self.diary = diary

    def fit(self, rows: Any, labels: Any) -> Nearest:
        self.rows_, self.labels_ = np.asarray(rows), np.asarray(labels)
        self.diary.append((self.rows_[:, 0].tolist(), self.labels_.tolist()))
        return self

    def predict(self, rows: Any) -> Any:
        return self.labels_[np.abs(self.rows_[:, 0] - np.asarray(rows)).argmin(axis=1)]


class List(list[Any]):
    """A list that stays the same through clone, which copies plain ones."""

    def __deepcopy__(self, memo: Any) -> List:
        return self


def lesson(values: list[float], codes: list[int], classes: Classes = TWO) -> Lesson:
    rows = np.array(values)[:, None]
    return Lesson.checked(rows, np.array(codes), classes, weights=None, seed=0)


def nearest() -> tuple[Learning, List]:
    diary = List()
    return Learning("nearest", Nearest(diary)), diary


def test_plain_leaves_out_what_was_not_answered() -> None:
    learning, diary = nearest()
    model = Plain().fit(learning, lesson([0, 1, 2, 3], [0, ABSTAIN, 1, ABSTAIN]))
    assert diary == [([0, 2], ["no", "yes"])]
    assert model.predict([[0.4], [5]]).tolist() == ["no", "yes"]


def test_imputed_labels_every_row() -> None:
    learning, diary = nearest()
    questions = lesson([0, 1, 2, 3], [0, ABSTAIN, 1, ABSTAIN])
    Imputed().fit(learning, questions)
    Imputed(1).fit(learning, questions)
    assert [labels for _, labels in diary] == [["no", "no", "yes", "no"], ["no", "yes", "yes", "yes"]]


def test_imputed_at_random_depends_on_the_seed_alone() -> None:
    learning, diary = nearest()
    n = 200
    one = lesson(list(range(n)), [0, 1] + [ABSTAIN] * (n - 2))
    other = lesson(list(range(n)), [1, 0] + [ABSTAIN] * (n - 2))
    for questions in (one, other, one.reseeded(1)):
        Imputed("random").fit(learning, questions)
    first, second, third = (labels for _, labels in diary)
    assert first[:2] == ["no", "yes"]
    assert first[2:] == second[2:] != third[2:]
    assert 60 < first.count("yes") < 140


@pytest.mark.parametrize("fill", [True, 1.0, "coin"])
def test_imputed_refuses_other_fills(fill: Any) -> None:
    with pytest.raises(InvalidParameter, match="give the number of a class, or 'random'"):
        Imputed(fill)


def test_imputed_refuses_a_class_that_is_not_there() -> None:
    with pytest.raises(InvalidParameter, match="fill is 2; the classes are numbered from 0 to 1"):
        Imputed(2).fit(nearest()[0], lesson([0, 1], [0, ABSTAIN]))


def test_self_training_without_certainty_takes_all_guesses_at_once() -> None:
    learning, diary = nearest()
    SelfTraining().fit(learning, lesson([0, 1, 9, 10], [0, ABSTAIN, ABSTAIN, 1]))
    # The third round would learn from the same labels as the second, so there is none.
    assert diary == [([0, 10], ["no", "yes"]), ([0, 1, 9, 10], ["no", "no", "yes", "yes"])]


def test_self_training_takes_the_surest_of_each_class_first() -> None:
    diary = List()

    class Sure(Nearest):
        def predict_proba(self, rows: Any) -> Any:
            certainty = 0.5 + np.asarray(rows)[:, 0] / 100
            return np.stack([certainty, 1 - certainty], axis=1)

    questions = lesson([0, 1, 2, 3, 4, 40, 38, 36, 34], [0, *[ABSTAIN] * 4, 1, *[ABSTAIN] * 3])
    SelfTraining(rounds=2).fit(Learning("sure", Sure(diary)), questions)
    assert [sorted(rows) for rows, _ in diary] == [
        [0, 40],
        [0, 3, 4, 36, 38, 40],
        [0, 1, 2, 3, 4, 34, 36, 38, 40],
    ]


@pytest.mark.parametrize("learner", ["logistic", "ridge", "text", "nb"])
def test_self_training_learns_from_the_unanswered_rows(learner: str) -> None:
    """Released labels that cover only the far ends of two groups; the rest shows where the groups part."""
    draws = np.random.default_rng(3)
    truth = np.arange(600) % 2
    rows = np.stack([draws.normal(6 * truth - 3, 1), draws.normal(6 * truth - 3, 1)], axis=1)
    labels = np.where(np.arange(600) < 6, truth, ABSTAIN).astype(np.int32)
    student = train_student(rows, labels, classes=TWO, learner=learner, strategy="self-training")
    assert (student.predict_codes(rows) == truth).mean() > 0.98


def test_self_training_with_everything_answered_is_plain() -> None:
    public = public_table(answered=1.0)
    one, two = (
        train_student(public.rows, public.labels, classes=TWO, learner="logistic", strategy=strategy)
        for strategy in ("plain", "self-training")
    )
    np.testing.assert_array_equal(one.predict_proba(public.rows), two.predict_proba(public.rows))


def test_voters_decide_by_majority_and_ties_go_to_the_class_declared_first() -> None:
    class Says:
        def __init__(self, *names: str) -> None:
            self.names = np.array(names)

        def predict(self, rows: Any) -> Any:
            return self.names

    members = [Says("z", "a", "m"), Says("z", "z", "a"), Says("a", "a", "z"), Says("m", "z", "m")]
    voters = Voters(members, np.array(["z", "m", "a"]))
    assert voters.predict(np.zeros((3, 1))).tolist() == ["z", "z", "m"]
    assert voters.predict_proba(np.zeros((3, 1))).tolist() == [[0.5, 0.25, 0.25], [0.5, 0, 0.5], [0.25, 0.5, 0.25]]


def test_voting_trains_each_member_on_its_own_sample_with_every_class() -> None:
    learning, diary = nearest()
    codes = [0] * 20 + [1] + [ABSTAIN] * 9
    model = Voting(5).fit(learning, lesson(list(range(30)), codes))
    assert len(model.members) == len(diary) == 5
    assert len({tuple(rows) for rows, _ in diary}) == 5
    for rows, labels in diary:
        assert len(rows) == 21
        assert max(rows) == 20
        assert labels.count("yes") == 1


def test_voting_steadies_a_restless_learner() -> None:
    public, fresh = public_table(800, right=0.75, answered=1.0), public_table(2000, seed=1)
    learner = DecisionTreeClassifier(min_samples_leaf=5)
    rows, more = public.rows.drop_columns("job"), fresh.rows.drop_columns("job")
    one, many = (
        train_student(rows, public.labels, classes=TWO, learner=learner, strategy=strategy)
        for strategy in ("plain", Voting(25))
    )
    truth = (np.asarray(fresh.rows["age"]) > 42).astype(int)
    right = [(student.predict_codes(more) == truth).mean() for student in (one, many)]
    assert right[1] > right[0] + 0.03


def test_strategies_with_settings_can_be_handed_over() -> None:
    public = public_table(60)
    student = train_student(public.rows, public.labels, classes=TWO, learner="ridge", strategy=Voting(3))
    assert student.strategy == "voting"
    assert len(student.model.members) == 3
    for wrong in (0, 1.5, True):
        with pytest.raises(InvalidParameter, match="n_voters is"):
            Voting(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="rounds is"):
            SelfTraining(wrong)  # type: ignore[arg-type]


def test_open_seeds_are_set_and_others_are_kept() -> None:
    public = public_table(60)
    for given, expected in ((None, 5), (3, 3)):
        learner = LogisticRegression(random_state=given)
        student = train_student(public.rows.select(["age"]), public.labels, classes=TWO, learner=learner, seed=5)
        assert student.model.random_state == expected
        assert learner.random_state == given


def test_auto_cleans_where_every_column_is_a_category() -> None:
    number, category = Column("a", "number"), Column("b", "category", categories=("x", "y"))
    assert strategy_of("auto", Schema((category,))).name == "cleaned"
    assert strategy_of("auto", Schema((category, number))).name == "plain"
    assert strategy_of("auto").name == "plain"
