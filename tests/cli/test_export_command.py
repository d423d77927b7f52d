"""mapl export: from a published student to a file for others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.tables.classes import Classes
from mapl.students import save, train_student

STATEMENT = (
    '{"guaranteed_epsilon": 1, "epsilon": 1, "delta": 1e-5, "adjacency": "one more", "unit": "a person", '
    '"private": true}'
)


@pytest.fixture
def student(tmp_path: Path) -> Path:
    table = pa.table({"age": np.arange(60.0)})
    made = train_student(
        table, (np.arange(60) > 30).astype(np.int32), classes=Classes(("no", "yes")), learner="ridge"
    )
    save(made, tmp_path / "student.skops", statement=STATEMENT)
    save(made, tmp_path / "old.skops")
    return tmp_path / "student.skops"


@pytest.mark.parametrize(("form", "name"), [("onnx", "student.onnx"), ("sklearn", "student.sklearn.skops")])
def test_a_file_beside_the_student(mapl: Callable, student: Path, form: str, name: str) -> None:
    ran = mapl("export", student, "--to", form)
    assert (ran.code, ran.stderr) == (0, "")
    assert (student.parent / name).is_file()
    assert mapl("export", student, "--to", form).code == 2


def test_json_where_it_is_wanted(mapl: Callable, student: Path) -> None:
    ran = mapl("export", student, "--to", "json", "--out", "there.json", "--json")
    assert ran.code == 0
    said = json.loads(ran.stdout)
    assert (said["out"], said["privacy"]["unit"]) == ("there.json", "a person")
    assert json.loads(Path("there.json").read_text("utf-8"))["privacy"]["epsilon"] == 1


def test_without_a_promise_that_is_said(mapl: Callable, student: Path) -> None:
    ran = mapl("export", student.with_name("old.skops"), "--to", "json")
    assert ran.code == 0
    assert "no promise of privacy" in ran.stderr
    assert json.loads(student.with_name("old.json").read_text("utf-8"))["privacy"] is None


@pytest.mark.parametrize("form", ["pickle", ""])
def test_other_forms_are_refused(mapl: Callable, student: Path, form: str) -> None:
    ran = mapl("export", student, "--to", form)
    assert ran.code == 2
    assert "onnx, sklearn, json" in ran.stderr
    assert sorted(one.name for one in student.parent.iterdir()) == ["old.skops", "student.skops"]


def test_a_run_folder_is_told_what_to_give(mapl: Callable, student: Path) -> None:
    ran = mapl("export", student.parent, "--to", "json")
    assert ran.code == 2
    assert "student.skops" in ran.stderr
