"""One engine behind two faces: the same data, seed and settings give the same labels, statement and warnings."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl import (
    PrivateClassifier,
    PrivateMultiLabelClassifier,
    PrivateOracle,
    PrivateRegressor,
    PrivateSoftClassifier,
)
from mapl.data.synthetic import LABEL, UNIT
from mapl.estimators.wording import PYTHON
from mapl.students import load

OWN = ("run_id", "ledger_head")
"""What every run has of its own."""

BUDGET = {"epsilon": 8.0, "delta": 1e-5}
SEED = 11


@dataclass(frozen=True)
class Way:
    """One way to learn, as it is asked for on the command line and in Python."""

    options: tuple[Any, ...]
    parameters: dict[str, Any]
    face: type = PrivateClassifier
    label_private: bool = False


WAYS = {
    "teachers": Way(
        ("--method", "teachers", "--teachers", 20, "--student", "ridge"),
        {"method": "teachers", "n_teachers": 20, "student": "ridge"},
    ),
    "cells": Way(("--method", "cells", "--student", "ridge"), {"method": "cells", "student": "ridge"}),
    "moments": Way(("--method", "moments", "--rows", 1500), {"method": "moments", "n_rows": 1500}),
    "moments, balanced": Way(
        ("--method", "moments", "--rows", 1500, "--metric", "balanced"),
        {"method": "moments", "n_rows": 1500, "metric": "balanced"},
    ),
    "cells, weighed": Way(
        ("--method", "cells", "--student", "ridge", "--class-weight", "yes=3"),
        {"method": "cells", "student": "ridge", "class_weight": {"yes": 3}},
    ),
    "moments, label-private": Way(
        ("--label-private", "--method", "moments"), {"adjacency": "labels", "method": "moments"}, label_private=True
    ),
    "auto": Way(("--rows", 1500, "--student", "ridge"), {"n_rows": 1500, "student": "ridge"}),
    "active": Way(
        ("--strategy", "active", "--teachers", 20, "--queries", 40, "--student", "ridge"),
        {"strategy": "active", "n_teachers": 20, "n_queries": 40, "student": "ridge"},
    ),
    "soft": Way(("--strategy", "soft", "--teachers", 20), {"n_teachers": 20}, PrivateSoftClassifier),
    "selection": Way(
        ("--method", "select:teachers,cells", "--student", "ridge", "--rows", 1500),
        {"method": "select:teachers,cells", "student": "ridge", "n_rows": 1500},
    ),
    "label-private": Way(
        ("--label-private", "--method", "teachers", "--teachers", 20, "--student", "ridge"),
        {"adjacency": "labels", "method": "teachers", "n_teachers": 20, "student": "ridge"},
        label_private=True,
    ),
}


@dataclass(frozen=True)
class Files:
    """The tables that both faces are given: records with numbers that look like ids, and one country."""

    private: pa.Table
    public: pa.Table

    @property
    def rows(self) -> pa.Table:
        return self.private.drop_columns([LABEL])

    @property
    def labels(self) -> list[str]:
        found: list[str] = self.private[LABEL].to_pylist()
        return found


@pytest.fixture
def files(mapl: Callable[..., Any], clinic: Any, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Write tables that are worth a warning whatever is done with them, and let both faces speak one dialect."""
    monkeypatch.setattr("mapl.cli.console.COMMAND_LINE", PYTHON)  # so that messages can be compared word by word

    def marked(table: pa.Table) -> pa.Table:
        numbers = pa.array(np.arange(table.num_rows) * 7919 % 1_000_003)
        return table.append_column("record_id", numbers).append_column("country", pa.array(["here"] * len(table)))

    private = marked(pa.parquet.read_table(clinic.private).drop_columns([UNIT]))
    public = marked(pa.parquet.read_table(clinic.public).drop_columns([UNIT]))
    pa.parquet.write_table(private, "private.parquet")
    pa.parquet.write_table(public, "public.parquet")
    return Files(private, public)


def command(verb: str, *more: Any, label_private: bool = False) -> tuple[Any, ...]:
    asked = () if label_private else ("--public", "public.parquet")
    budget = ("--epsilon", BUDGET["epsilon"], "--delta", BUDGET["delta"])
    return (
        *(verb, "private.parquet", *asked, "--label", LABEL, "--classes", "no,yes", "--unit", "none", *budget),
        *("--jobs", 1, "--seed", SEED, "--out", "run", *more),
    )


def warned(ran: Any) -> list[str]:
    """Return the warnings of a verb that estimators have too.

    Of seeded coins their statement tells, and the hint that labels are matched by name is about files, whoever
    wrote them.
    """
    lines = [line for line in ran.stderr.splitlines() if "warning" in line]
    lines = [line for line in lines if "known seed" not in line and "matched by name" not in line]
    return [line.removeprefix("mapl: warning: ") for line in lines]


def fit(face: Any, files: Files, labels: Any = None, *, public: bool = True) -> list[str]:
    """Fit a face and return its warnings."""
    given = {"public": files.public} if public else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        face.fit(files.rows, files.labels if labels is None else labels, groups="none", **given)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("name", WAYS)
def test_the_command_line_and_python_do_the_same(mapl: Callable[..., Any], files: Files, name: str) -> None:
    way = WAYS[name]
    ran = mapl(*command("learn", *way.options, label_private=way.label_private))
    assert ran.code == 0, ran.stderr
    face = way.face(**BUDGET, classes=("no", "yes"), n_jobs=1, seed=SEED, **way.parameters)
    told = fit(face, files, public=not way.label_private)
    assert said(face.statement_) == said(json.loads(Path("run/public/statement.json").read_text("utf-8")))
    labels = pa.parquet.read_table("run/public/labels.parquet")
    if name == "soft":
        published = pa.parquet.read_table("run/public/soft_labels.parquet")
        values = next(published[c] for c in published.column_names if pa.types.is_floating(published[c].type))
        np.testing.assert_array_equal(np.asarray(values, dtype=np.float64), face.released_)
    else:
        classes = [None if code < 0 else face.classes_[code] for code in face.released_]
        assert labels["label"].to_pylist() == classes
    assert told == warned(ran)
    assert any("'record_id'" in words for words in told)


@pytest.mark.parametrize("label_private", [False, True])
def test_both_faces_learn_the_same_numbers(mapl: Callable[..., Any], files: Files, label_private: bool) -> None:
    table = files.private.drop_columns([LABEL])
    pa.parquet.write_table(table, "numbers.parquet")
    asked = ("--label-private",) if label_private else ("--public", "public.parquet")
    ran = mapl(
        *("learn", "numbers.parquet", *asked, "--label", "glucose", "--regression", "50,150", "--unit", "none"),
        *("--epsilon", BUDGET["epsilon"], "--delta", BUDGET["delta"], "--seed", SEED, "--out", "run"),
    )
    assert ran.code == 0, ran.stderr
    labels, public = table["glucose"].to_numpy(), files.public.drop_columns(["glucose"])
    given = Files(table.drop_columns(["glucose"]).append_column(LABEL, pa.array(labels)), public)
    more = {"adjacency": "labels"} if label_private else {}
    face = PrivateRegressor(low=50, high=150, **BUDGET, seed=SEED, **more)
    told = fit(face, given, labels, public=not label_private)
    assert told == warned(ran)
    assert said(face.statement_) == said(json.loads(Path("run/public/statement.json").read_text("utf-8")))
    student = load(Path("run/public/student.skops"))
    np.testing.assert_array_equal(student.predict(public), face.predict(public))


def test_taught_teachers_and_an_oracle_promise_the_same(mapl: Callable[..., Any], files: Files) -> None:
    ran = mapl(*command("teach", "--teachers", 40, "--queries", 30))
    assert ran.code == 0, ran.stderr
    oracle = PrivateOracle(**BUDGET, classes=("no", "yes"), n_jobs=1, seed=SEED, n_teachers=40, n_queries=30)
    told = fit(oracle, files)
    assert json.loads(oracle.plan_.to_json()) == json.loads(Path("run/public/plan.json").read_text("utf-8"))
    assert told == warned(ran)
    assert any("'record_id'" in words for words in told)


def test_several_labels_are_learned_by_the_same_engine(files: Files) -> None:
    settings: dict[str, Any] = {**BUDGET, "n_jobs": 1, "seed": SEED, "n_teachers": 20, "student": "ridge"}
    one = PrivateClassifier(classes=("no", "yes"), method="teachers", **settings)
    several = PrivateMultiLabelClassifier(classes=("no", "yes"), labels=[LABEL], **settings)
    told = fit(one, files)
    assert any("'record_id'" in words for words in told)
    assert fit(several, files, np.array(files.labels)[:, None]) == told
    alike = ("adjacency", "unit", "teachers", "delta", "budget_epsilon", "private", "assumptions", "checked")
    assert {key: said(one.statement_)[key] for key in alike} == {
        key: said(several.statement_)[key] for key in alike
    }
    np.testing.assert_array_equal(several.released_[:, 0] >= 0, one.released_ >= 0)


def test_both_faces_learn_several_labels(mapl: Callable[..., Any], files: Files) -> None:
    second = ["yes" if age > 50 else "no" for age in files.private["age"].to_pylist()]
    pa.parquet.write_table(files.private.append_column("old", pa.array(second)), "private.parquet")
    ran = mapl(*command("learn", "--label", "old", "--teachers", 20, "--student", "ridge"))
    assert ran.code == 0, ran.stderr
    settings: dict[str, Any] = {**BUDGET, "n_jobs": 1, "seed": SEED, "n_teachers": 20, "student": "ridge"}
    face = PrivateMultiLabelClassifier(classes=("no", "yes"), labels=[LABEL, "old"], **settings)
    told = fit(face, files, np.array([files.labels, second]).T)
    assert told == warned(ran)
    assert said(face.statement_) == said(json.loads(Path("run/public/statement.json").read_text("utf-8")))
    labels = pa.parquet.read_table("run/public/labels.parquet")["label"].to_pylist()
    assert labels == [None if code < 0 else face.classes_[code] for code in face.released_.T.ravel()]
    students = [load(Path(f"run/public/student-{number}.skops")) for number in (1, 2)]
    predicted = np.stack([one.predict(files.public) for one in students], axis=1)
    np.testing.assert_array_equal(predicted, face.predict(files.public))


def said(statement: Any) -> dict[str, Any]:
    plain = statement if isinstance(statement, dict) else json.loads(json.dumps(asdict(statement)))
    return {key: value for key, value in plain.items() if key not in OWN}
