"""The parameter `earlier`: fits go on from runs and fits on the same people within one budget, as runs do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from crowd import crowd

from mapl import PrivateClassifier, PrivateMultiLabelClassifier, PrivateSoftClassifier
from mapl.data.synthetic import LABEL, UNIT
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.estimators import earlier as notes
from mapl.pipeline.runs.continued import notes_of
from mapl.pipeline.runs.folder import RunFolder

COMMON: dict[str, Any] = {"delta": 1e-4, "n_jobs": 1, "n_teachers": 10, "n_queries": 8}
CLASSES: dict[str, Any] = {"classes": ("no", "yes"), "student": "ridge"}

pytestmark = pytest.mark.filterwarnings("ignore::mapl.PrivacyWarning")


@pytest.fixture(autouse=True)
def nobody_went_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "NOTES", {})


@pytest.fixture
def january(mapl: Callable[..., Any], clinic: Any) -> str:
    ran = mapl(*clinic.arguments("--queries", 8, "--out", "january", teachers=10))
    assert ran.code == 0, ran.stderr
    return "january"


def fitted(clinic: Any, epsilon: float, earlier: Any, **more: Any) -> PrivateClassifier:
    private = pyarrow.parquet.read_table(clinic.private)
    public = pyarrow.parquet.read_table(clinic.public).drop_columns([UNIT])
    clf = PrivateClassifier(epsilon=epsilon, earlier=earlier, **{**COMMON, **CLASSES, **more})
    rows, ids = private.drop_columns([LABEL, UNIT]), private[UNIT].to_pylist()
    return clf.fit(rows, private[LABEL].to_pylist(), public=public, groups=ids)


def test_a_fit_spends_what_runs_and_fits_left(clinic: Any, january: str) -> None:
    first = json.loads(Path(january, "public", "statement.json").read_text("utf-8"))
    clf = fitted(clinic, 25.0, january)
    said = clf.statement_
    assert said.budget_epsilon == pytest.approx(5.0)
    assert said.unit == first["unit"]
    assert said.together is not None
    assert said.together.epsilon <= 25.0
    assert [one.run for one in said.together.earlier_runs] == ["january"]
    (note,) = notes_of(RunFolder(Path(january)))
    assert (note.run_id, note.epsilon) == (said.run_id, pytest.approx(5.0))
    # What it took is taken, also for whoever does not name it.
    with pytest.raises(
        InvalidParameter, match=r"must not take the same rest: name PrivateClassifier .* earlier as"
    ):
        fitted(clinic, 30.0, [january])
    third = fitted(clinic, 30.0, [january, clf])
    assert third.statement_.budget_epsilon == pytest.approx(5.0)
    with pytest.raises(CannotCalibrate, match="budget is exhausted"):
        fitted(clinic, 30.0, [january, clf, third])
    with pytest.raises(InvalidParameter, match="given twice"):
        fitted(clinic, 40.0, [third, third])


def test_promises_that_do_not_add_up_are_refused(clinic: Any, january: str) -> None:
    with pytest.raises(InvalidParameter, match="ask for the same adjacency and unit"):
        fitted(clinic, 30.0, january, adjacency="replace-one")
    people = crowd()
    clf = PrivateClassifier(epsilon=30.0, earlier=january, **COMMON, **CLASSES)
    with pytest.raises(InvalidParameter, match="ask for the same adjacency and unit"):
        clf.fit(people.X, people.y, public=people.public)
    with pytest.raises(InvalidParameter, match="no fit of mapl"):
        clf.set_params(earlier=[PrivateClassifier()]).fit(people.X, people.y, public=people.public)
    with pytest.raises(InvalidParameter, match="holds no run"):
        clf.set_params(earlier="nowhere").fit(people.X, people.y, public=people.public)
    assert notes_of(RunFolder(Path(january))) == []


def test_the_private_half_has_to_be_here(clinic: Any, january: str, tmp_path: Path) -> None:
    Path(january, "private").rename(tmp_path / "elsewhere")
    with pytest.raises(InvalidParameter, match=r"private half of january is not here"):
        fitted(clinic, 30.0, january)


def test_two_fits_do_not_take_the_same_rest_of_a_third(clinic: Any) -> None:
    people = crowd()
    first = PrivateClassifier(epsilon=20.0, **COMMON, **CLASSES).fit(people.X, people.y, public=people.public)
    soft = PrivateSoftClassifier(
        epsilon=25.0, earlier=first, delta=1e-3, n_jobs=1, n_teachers=10, classes=("no", "yes")
    )
    soft.fit(people.X, people.y, public=people.public)
    assert soft.statement_.budget_epsilon == pytest.approx(5.0)
    several = PrivateMultiLabelClassifier(epsilon=45.0, earlier=first, **{**COMMON, "delta": 1e-3}, student="ridge")
    labels = (np.asarray(people.X) > 0).astype(int)
    with pytest.raises(InvalidParameter, match="Two fits must not take the same rest"):
        several.fit(people.X, labels, public=people.public)
    several.set_params(earlier=[first, soft], delta=1e-2).fit(people.X, labels, public=people.public)
    assert several.statement_.budget_epsilon == pytest.approx(20.0)
    assert several.statement_.together is not None
