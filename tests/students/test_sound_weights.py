"""Numbers that no honest student has are refused when its file is read, whoever learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from export_students import of_categories, of_moments, soft, soft_of_three
from forger import of_numbers
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.number_range import NumberRange
from mapl.errors import InvalidData
from mapl.students import Student
from mapl.students.file.student_file import dumps, loads
from mapl.students.file.tree_bounds import parts_of

STUDENTS = {
    "moments": lambda: of_moments(3),
    "moments of numbers": lambda: of_moments(number_range=NumberRange(0.0, 9.0)),
    "soft": soft,
    "soft, three": soft_of_three,
    "kernel": of_categories,
    "two classes": lambda: of_numbers(LogisticRegression(), n_classes=2)[0],
    "ridge": lambda: of_numbers(RidgeClassifier())[0],
    "linear support vectors": lambda: of_numbers(LinearSVC())[0],
    "support vectors": lambda: of_numbers(SVC())[0],
    "network": lambda: of_numbers(MLPClassifier((4,), max_iter=5))[0],
    "naive Bayes": lambda: of_numbers(GaussianNB())[0],
    "naive Bayes of marks": lambda: of_numbers(BernoulliNB())[0],
}
PREDICTED_BY = {
    "turn",
    "weights",
    "coef_",
    "intercept_",
    "dual_",
    "shares_",
    "anchors_",
    "rate_",
    "support_vectors_",
}
PREDICTED_BY |= {
    "_dual_coef_",
    "_intercept_",
    "coefs_",
    "intercepts_",
    "theta_",
    "var_",
    "feature_log_prob_",
    "maps",
}


def numbers_of(student: Student) -> Iterator[tuple[Any, Any, Any]]:
    """Yield what holds numbers that a student predicts by, the name of each there, and the numbers."""
    for _, part in parts_of(student.model):
        held = vars(part) if hasattr(part, "__dict__") and not isinstance(part, type) else {}
        for name in sorted(PREDICTED_BY & held.keys()):
            value = held[name]
            inside = (
                value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            )
            for at, array in inside:
                if isinstance(array, np.ndarray):
                    yield value, at, array
            if isinstance(value, (np.ndarray, float)):
                yield held, name, value


@pytest.mark.parametrize("kind", STUDENTS)
def test_weights_that_are_no_finite_numbers_are_refused(kind: str) -> None:
    student, tried = STUDENTS[kind](), 0
    assert loads(dumps(student)).learner == student.learner
    for holder, name, honest in list(numbers_of(student)):
        for odd in (np.nan, np.inf):
            changed = np.array(honest, dtype=np.float64)
            if not changed.size:
                continue
            changed.flat[-1] = odd
            holder[name] = changed if isinstance(honest, np.ndarray) else float(changed)
            with pytest.raises(InvalidData, match="no finite numbers"):
                loads(dumps(student))
            tried += 1
        holder[name] = honest
    assert tried >= 2
    loads(dumps(student))


@pytest.mark.parametrize(
    ("kind", "name", "axis"),
    [
        ("moments", "weights", 1),
        ("moments of numbers", "weights", 1),
        ("soft, three", "coef_", 0),
        ("kernel", "dual_", 1),
        ("kernel", "radii", 0),
        ("two classes", "coef_", 0),
        ("two classes", "intercept_", 0),
        ("ridge", "coef_", 0),
        ("linear support vectors", "intercept_", 0),
        ("support vectors", "_dual_coef_", 0),
        ("support vectors", "support_vectors_", 1),
        ("support vectors", "_intercept_", 0),
        ("naive Bayes", "theta_", 0),
    ],
)
@pytest.mark.parametrize("more", [True, False])
def test_more_or_fewer_weights_than_classes_and_columns_need_are_refused(
    kind: str, name: str, axis: int, more: bool
) -> None:
    student = STUDENTS[kind]()
    holder, at, honest = next(one for one in numbers_of(student) if one[1] == name)
    along = range(honest.shape[axis])
    holder[at] = honest.take([*along, 0] if more else along[:-1], axis=axis)
    with pytest.raises(InvalidData):
        loads(dumps(student))
    holder[at] = honest
    loads(dumps(student))


@pytest.mark.parametrize("kind", ["two classes", "ridge", "soft, three", "kernel"])
@pytest.mark.parametrize("odd", [0, 1j, complex(0, np.nan), np.timedelta64("NaT")])
def test_weights_that_are_complex_or_times_are_refused(kind: str, odd: Any) -> None:
    """A complex one that is none passed for finite, and so did its real part."""
    student = STUDENTS[kind]()
    holder, name, honest = next(one for one in numbers_of(student) if isinstance(one[2], np.ndarray))
    holder[name] = honest.astype("m8[s]" if isinstance(odd, np.timedelta64) else complex)
    holder[name].flat[-1] += odd
    with pytest.raises(InvalidData, match="no finite numbers"):
        loads(dumps(student))
    holder[name] = honest
    loads(dumps(student))


def test_leaves_that_say_no_number_are_refused() -> None:
    student, _ = of_numbers(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5))
    student.model._predictors[0][0].nodes["value"][-1] = np.nan
    with pytest.raises(InvalidData, match="no finite numbers"):
        loads(dumps(student))
    student, _ = of_numbers(DecisionTreeClassifier(max_depth=2))
    state = student.model.tree_.__getstate__()
    state["values"][-1] = np.inf
    student.model.tree_.__setstate__(state)
    with pytest.raises(InvalidData, match="no finite numbers"):
        loads(dumps(student))


def test_honest_students_keep_what_is_no_number_beside_what_they_predict_by() -> None:
    """Votes about rows that every tree has seen, and chances of zero."""
    forest, _ = of_numbers(RandomForestClassifier(2))
    forest.model.oob_decision_function_ = np.full((150, 3), np.nan)
    bayes, _ = of_numbers(BernoulliNB())
    bayes.model.feature_log_prob_[0] = -np.inf
    for student in (forest, bayes):
        assert loads(dumps(student)).learner == student.learner
