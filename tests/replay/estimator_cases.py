"""The estimators as cases: each is fitted on a private table, and all that may be published of it is kept."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from neighbours import N_PUBLIC, NUMBERS, held, people
from side import Side

from mapl import (
    PrivateClassifier,
    PrivateMultiLabelClassifier,
    PrivateOracle,
    PrivatePredictor,
    PrivateRegressor,
    PrivateSoftClassifier,
    SemiPrivateClassifier,
    StableClassifier,
    StableOracle,
)
from mapl.errors import MaplError
from mapl.release import Named
from mapl.students.file.student_file import dumps

Script = Callable[[Side, Any], None]
USUAL = {"epsilon": 20.0, "classes": ("no", "yes")}
PUBLISHED = ("classes_", "n_features_in_", "feature_names_in_", "plan_", "statement_", "released_", "error_rate_")
PUBLISHED += ("labels_", "method_", "bound_", "stability_", "promise_")


def public_of(rows: Any) -> Any:
    """Return public rows in the container of the private ones."""
    kind = f"{type(rows).__module__.partition('.')[0]}"
    form = {"numpy": "numpy", "scipy": "sparse", "polars": "polars", "pyarrow": "arrow"}.get(kind, "pandas")
    if form == "pandas" and any(not isinstance(one, np.dtype) for one in rows.dtypes):
        form = "nullable"
    names = getattr(rows, "column_names", None)
    names = getattr(rows, "columns", None) if names is None else names
    return held(form, people(N_PUBLIC, first=200), NUMBERS if names is None else tuple(names))[0]


def fitted(estimator: Any, *, published: bool = True, ask: bool = False, of_groups: bool = True) -> Script:
    """Fit, and keep what may be published: attributes, answers, predictions, the pickled estimator, its student."""

    def script(side: Side, private: Any) -> None:
        X, y, groups = private
        public = public_of(X)
        teaches = not isinstance(estimator(), PrivatePredictor | StableClassifier)
        given = {"public": public} if teaches and estimator().adjacency != "labels" else {}
        if teaches and of_groups and not isinstance(estimator(), SemiPrivateClassifier):
            given["groups"] = groups
        clf = estimator()
        try:
            clf.fit(X, y, **given)
            said = clf.answer(public) if ask else clf.predict(public)
            side.note("answers", said.tolist())
        except Exception as refusal:
            side.note("refused", f"{type(refusal).__name__}: {refusal}")
            if not isinstance(refusal, MaplError):
                side.note("refused by", _where(refusal))
        side.note("repr", repr(clf))
        for name in PUBLISHED:
            if hasattr(clf, name):
                side.note(name, repr(getattr(clf, name)))
        for number, student in enumerate(getattr(clf, "students_", [getattr(clf, "student_", None)])):
            if student is not None:
                side.note(f"student {number}", dumps(student, statement=clf.statement_.to_json()))
        if published:
            side.note("pickle", pickle.dumps(clf))
        if isinstance(clf, StableClassifier) and hasattr(clf, "stability_"):
            side.note("confidence", clf.confidence(public).tolist())

    return script


def _where(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_qualname} in {trace.tb_frame.f_globals['__name__']}"


def classifier(of_groups: bool = True, **settings: Any) -> Script:
    usual = {**USUAL, "n_jobs": 1, "student": "ridge"}
    return fitted(lambda: PrivateClassifier(**{**usual, **settings}), of_groups=of_groups)


def regressor(of_groups: bool = True) -> Script:
    """The classes as numbers; whatever else a label says is no number."""
    one = fitted(lambda: PrivateRegressor(low=-1.0, high=2.0, epsilon=20.0), of_groups=of_groups)

    def script(side: Side, private: Any) -> None:
        X, y, groups = private
        one(side, (X, np.array([{"no": 0.0, "yes": 1.5}.get(label, label) for label in y], dtype=object), groups))

    return script


def oracle() -> Script:
    return fitted(lambda: PrivateOracle(**USUAL, n_teachers=5, n_queries=30, n_jobs=1), published=False, ask=True)


def soft(**settings: Any) -> Script:
    usual = {**USUAL, "n_teachers": 5, "n_jobs": 1}
    return fitted(lambda: PrivateSoftClassifier(**{**usual, **settings}))


def predictor() -> Script:
    """Padded stumps, which need no number of records."""
    return fitted(
        lambda: PrivatePredictor(**USUAL, n_queries=30, adjacency="add-remove"), published=False, ask=True
    )


def stable() -> Script:
    return fitted(
        lambda: StableClassifier(classes=("no", "yes"), gamma=0.5, adjacency="add-remove", n_rows=40),
        published=False,
        ask=True,
    )


def semi_private() -> Script:
    return fitted(lambda: SemiPrivateClassifier(**USUAL, adjacency="add-remove"))


def several_labels() -> Script:
    """Two labels, of which the second is the first one turned round."""
    one = fitted(lambda: PrivateMultiLabelClassifier(**USUAL, n_teachers=5, n_jobs=1, student="ridge"))

    def script(side: Side, private: Any) -> None:
        X, y, groups = private
        labels = np.array(list(y), dtype=object)
        turned = np.array([{"no": "yes", "yes": "no"}.get(label, label) for label in labels], dtype=object)
        one(side, (X, np.column_stack([labels, turned]), groups))

    return script


def stable_oracle() -> Script:
    """Two queries of a user's own, one of which looks at every cell."""

    def script(side: Side, private: Any) -> None:
        oracle = StableOracle(private, epsilon=1.0, delta=1e-6, n_queries=2)
        side.note("answers", oracle.answer(Named("size", lambda held: (len(held[1]), 0)), Named("cells", _size)))
        side.note("statement", oracle.statement.to_json())
        side.note("repr", repr(oracle))

    return script


def _size(private: Any) -> tuple[int, int]:
    return sys.getsizeof(str(private[0])), 0
