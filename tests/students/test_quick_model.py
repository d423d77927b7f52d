"""Students of moments predict the same without scikit-learn, and only they are read without it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from export_students import questions_of, student_of
from forger import node, of_numbers, rewritten

from mapl.errors import InvalidData
from mapl.students import save
from mapl.students.file.quick_linear import QuickLinear, QuickNumbers
from mapl.students.file.student_file import dumps, loads

QUICK = {"moments": QuickLinear, "moments, four": QuickLinear, "moments, numbers": QuickNumbers}


@pytest.mark.parametrize("name", QUICK)
def test_predictions_are_the_same_to_the_last_bit(name: str) -> None:
    content, rows = dumps(student_of(name)), questions_of(student_of(name))
    slow, quick = loads(content), loads(content, to_predict=True)
    assert type(quick.model) is QUICK[name]
    np.testing.assert_array_equal(quick.predict(rows), slow.predict(rows))
    if name != "moments, numbers":
        np.testing.assert_array_equal(quick.predict_proba(rows), slow.predict_proba(rows))
        assert len(np.unique(quick.predict(rows))) > 1
    assert (quick.schema, quick.classes, quick.number_range) == (slow.schema, slow.classes, slow.number_range)


@pytest.mark.parametrize("learner", ["ridge", "forest"])
def test_other_students_are_read_as_ever(learner: str) -> None:
    student, rows = of_numbers(learner)
    again = loads(dumps(student), to_predict=True)
    assert type(again.model).__module__.startswith("sklearn")
    np.testing.assert_array_equal(again.predict(rows), student.predict(rows))


def steps_of(plan: dict[str, Any]) -> Any:
    return plan["content"]["content"]["steps"]["content"]


def foreign(plan: dict[str, Any]) -> None:
    """A type that mapl never builds, where a Pipeline has a setting."""
    plan["content"]["content"]["memory"] |= {
        "__module__": "antigravity",
        "__class__": "fly",
        "__loader__": "TypeNode",
    }


def executed(plan: dict[str, Any]) -> None:
    """A step that is something else than a linear model."""
    steps_of(plan)[1]["content"][1] |= {"__module__": "os", "__class__": "system"}


def third(plan: dict[str, Any]) -> None:
    """One step more."""
    steps_of(plan).append({**steps_of(plan)[1], "__module__": "builtins", "__class__": "antigravity"})


@pytest.mark.parametrize("change", [foreign, executed, third])
def test_what_is_no_student_of_moments_is_refused_as_ever(change: Any) -> None:
    forged = rewritten(dumps(student_of("moments")), plan=change)
    for to_predict in (False, True):
        with pytest.raises(InvalidData):
            loads(forged, to_predict=to_predict)
    assert "antigravity" not in sys.modules


def shadowed(plan: dict[str, Any]) -> None:
    """A Pipeline with an attribute that hides one of its methods."""
    plan["content"]["content"]["_iter"] = node("builtins.str", "JsonNode", content="null", is_json=True)
    plan["content"]["key_types"]["content"].append(node("builtins.str", "TypeNode"))


def listed(plan: dict[str, Any]) -> None:
    """Classes in a list instead of an array."""
    names = [node("builtins.str", "JsonNode", content=json.dumps(one), is_json=True) for one in ("no", "yes")]
    model = steps_of(plan)[1]["content"][1]
    model["content"]["content"]["classes"] = node("builtins.list", "ListNode", content=names)


@pytest.mark.parametrize("change", [shadowed, listed])
def test_what_scikit_learn_might_read_otherwise_is_left_to_it(change: Any) -> None:
    forged = rewritten(dumps(student_of("moments")), plan=change)
    try:
        expected: type | None = type(loads(forged).model)
    except InvalidData:
        expected = None
    if expected is None:
        with pytest.raises(InvalidData):
            loads(forged, to_predict=True)
    else:
        assert type(loads(forged, to_predict=True).model) is expected


@pytest.mark.parametrize("change", ["fewer", "gaps", "flat", "words"])
def test_arrays_that_do_not_fit_make_no_quick_model(change: str) -> None:
    content = dumps(student_of("moments"))
    with ZipFile(io.BytesIO(content)) as archive:
        arrays = {one: np.load(io.BytesIO(archive.read(one))) for one in archive.namelist() if one.endswith(".npy")}
    name = min((one for one in arrays if arrays[one].dtype.kind == "f"), key=lambda one: arrays[one].size)
    other = {
        "fewer": arrays[name][:-1],
        "gaps": np.full_like(arrays[name], np.nan),
        "flat": arrays[name].ravel(),
        "words": arrays[name].astype(str),
    }[change]
    written = io.BytesIO()
    np.save(written, other)
    forged = rewritten(content, **{name: written.getvalue()})
    try:
        read = loads(forged, to_predict=True)
    except InvalidData:
        return  # refused is as good
    assert type(read.model) is not QuickLinear


def test_an_array_of_objects_is_never_unpickled() -> None:
    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    forged = rewritten(dumps(student_of("moments")), **{"0.npy": pickled.getvalue()})
    with pytest.raises(InvalidData):
        loads(forged, to_predict=True)


def test_predicting_imports_neither_scikit_learn_nor_skops(tmp_path: Path) -> None:
    save(student_of("moments"), tmp_path / "student.skops")
    questions_of(student_of("moments")).to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    program = (
        "import sys; from mapl.__main__ import main\n"
        "try: main()\n"
        "finally: print(sorted({'sklearn', 'skops', 'scipy', 'flint', 'mapl.noise'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", program, "predict", "student.skops", "rows.csv", "--out", "out.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert (tmp_path / "out.csv").exists()
