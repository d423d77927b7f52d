"""Exported students predict as mapl does, follow from the student alone, and tell what was promised."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skops.io
from export_students import ALL, cells_of, on_table, questions_of, rows, student_of

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidParameter
from mapl.students import Student, export, load, save, train_student
from mapl.students.exports.export import FORMS, export_bytes
from mapl.students.file.student_file import dumps, loads

DOCS = Path(__file__).parents[2] / "docs" / "export.md"
STATEMENT = json.dumps(
    {
        "guaranteed_epsilon": 1.5,
        "epsilon": 1.2,
        "delta": 1e-5,
        "adjacency": "one person is added or removed",
        "unit": "all records of one person",
        "private": True,
    }
)
PROMISE = {
    "epsilon": 1.5,
    "delta": 1e-5,
    "adjacency": "one person is added or removed",
    "unit": "all records of one person",
    "private": True,
}
TOLERANCE = {"categories": 1e-4}
"""Of probabilities; 1e-6 for all others. In 32 bits mapl's own kernel is not better."""
NO_SKLEARN = ("voting", "voting trees", "categories", "soft, boosted", "weighed")


def reader() -> dict[str, Any]:
    """The program that the documentation prints, which knows numpy and nothing else."""
    names: dict[str, Any] = {}
    program = re.search(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert program is not None
    assert set(re.findall(r"^(?:from|import) (\w+)", program[1], re.MULTILINE)) == {"json", "numpy"}
    exec(program[1], names)
    return names


def compare(student: Student, found: Any, chances: Any, within: float, wide: float = 1.0) -> None:
    questions = questions_of(student)
    if student.number_range is not None:
        span = student.number_range.high - student.number_range.low
        np.testing.assert_allclose(found, student.predict(questions), rtol=0, atol=within * span)
        return
    own = student.predict_proba(questions)
    np.testing.assert_allclose(chances, own, rtol=0, atol=within)
    weighed = np.sort(own * (1.0 if student.class_weights is None else np.array(student.class_weights)))
    clear = weighed[:, -1] - weighed[:, -2] > 2 * within * wide
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(np.asarray(found)[clear], student.predict(questions)[clear])


@pytest.mark.parametrize("name", ALL)
def test_json_and_numpy_alone_predict_as_mapl_does(tmp_path: Path, name: str) -> None:
    student = student_of(name)
    export(student, tmp_path / "student.json", to="json")
    cells = cells_of(student, questions_of(student))
    found, chances = reader()["predict"](tmp_path / "student.json", cells)
    compare(student, found, chances, TOLERANCE.get(name, 1e-6))


@pytest.mark.parametrize("name", ALL)
def test_onnx_predicts_as_mapl_does(name: str) -> None:
    student = student_of(name)
    content = export_bytes(student, to="onnx")
    onnx.checker.check_model(onnx.load_from_string(content))
    questions = questions_of(student)
    feed: dict[str, Any] = {"rows": questions}
    if not student.on_matrix:
        kinds = {one.name: object if one.kind == "category" else float for one in student.schema.columns}
        cells = cells_of(student, questions)
        feed = {column: np.array(cells[column], dtype=kinds[column])[:, None] for column in student.columns}
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, feed), strict=True))
    if student.number_range is not None:
        compare(student, found["predicted number"][:, 0], None, 1e-6)
        return
    compare(student, found["predicted label"], found["probabilities"], TOLERANCE.get(name, 1e-6))


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_SKLEARN])
def test_scikit_learn_predicts_as_mapl_does(name: str) -> None:
    student = student_of(name)
    content = export_bytes(student, to="sklearn")
    types = skops.io.get_untrusted_types(data=content)
    assert not [one for one in types if one.startswith("mapl")]
    model = skops.io.loads(content, trusted=types)
    questions = questions_of(student)
    given = questions if student.on_matrix else pd.DataFrame(cells_of(student, questions))
    found = model.predict(given)
    within = 1e-3 if name.startswith("moments") else 1e-6
    own = student.predict(questions)
    if student.number_range is not None:
        compare(student, found, None, within)
    elif hasattr(model, "predict_proba") and name != "one class":
        order = [list(model.classes_).index(one) for one in np.unique(own).tolist() or model.classes_]
        assert len(order) == len(student.classes)
        by_class = dict(zip(model.classes_.tolist(), model.predict_proba(given).T, strict=True))
        compare(student, found, np.column_stack([by_class[one] for one in student.classes.names]), within)
    else:
        np.testing.assert_array_equal(found, own)


@pytest.mark.parametrize("name", NO_SKLEARN)
def test_what_scikit_learn_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(InvalidParameter, match="Export it to onnx or json"):
        export_bytes(student_of(name), to="sklearn")


def test_the_file_for_scikit_learn_opens_where_there_is_no_mapl(tmp_path: Path) -> None:
    export(student_of("logistic"), tmp_path / "student.skops", to="sklearn")
    program = (
        "import sys; sys.modules['mapl'] = None\n"
        "import skops.io, pandas as pd\n"
        "model = skops.io.load(sys.argv[1], trusted=['numpy.dtype'])\n"
        "row = {'age': [50.0], 'job': [''], 'noise': [0.0], 'town': ['a'], 'seen': [18000.0]}\n"
        "print(model.predict(pd.DataFrame(row))[0])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "student.skops"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() in ("no", "yes")


def test_an_export_tells_what_was_promised(tmp_path: Path) -> None:
    save(student_of("moments"), tmp_path / "student.skops", statement=STATEMENT)
    student = load(tmp_path / "student.skops")
    assert student.promise is not None
    assert student.promise.to_record() == PROMISE
    digest = sha256(STATEMENT.encode()).hexdigest()
    plain = json.loads(export_bytes(student, to="json"))
    assert (plain["privacy"], plain["statement_sha256"]) == (PROMISE, digest)
    metadata = {
        one.key: one.value for one in onnx.load_from_string(export_bytes(student, to="onnx")).metadata_props
    }
    assert {name: metadata[f"mapl.privacy.{name}"] for name in ("epsilon", "delta", "unit", "adjacency")} == {
        "epsilon": "1.5",
        "delta": "1e-05",
        "unit": "all records of one person",
        "adjacency": "one person is added or removed",
    }
    with ZipFile(BytesIO(export_bytes(student, to="sklearn"))) as archive:
        assert json.loads(archive.read("mapl.json"))["privacy"] == PROMISE


@pytest.mark.parametrize("statement", ["no JSON", "{}", "[1]", '{"guaranteed_epsilon": 1, "epsilon": 1}'])
def test_a_statement_without_a_promise_gives_none(statement: str) -> None:
    student = loads(dumps(student_of("one class"), statement=statement))
    assert student.promise is None
    assert student.statement_sha256 == sha256(statement.encode()).hexdigest()
    assert json.loads(export_bytes(student, to="json"))["privacy"] is None


def test_the_promise_of_several_runs_is_the_one_of_all_together() -> None:
    statement = json.loads(STATEMENT) | {"together": {"epsilon": 3.5, "delta": 2e-5}}
    student = loads(dumps(student_of("one class"), statement=json.dumps(statement)))
    assert student.promise is not None
    assert (student.promise.epsilon, student.promise.delta) == (3.5, 2e-5)
    assert loads(dumps(student)).promise == student.promise


@pytest.mark.parametrize("forged", [{"epsilon": -1.0}, {"epsilon": None}, {"unit": 7}, {"private": "yes"}])
def test_a_forged_promise_is_refused(forged: dict[str, Any]) -> None:
    from mapl.errors import InvalidData
    from mapl.students.file.stated_promise import StatedPromise

    with pytest.raises(InvalidData, match="damaged or forged"):
        StatedPromise.of_record(PROMISE | forged)


SAME_BYTES = ("moments", "hgb", "logistic", "voting", "categories")


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """The file of the student goes over, and nothing else; hashes and memory are others there."""
    program = (
        "import sys, secrets, hashlib, pathlib\n"
        "kept = [secrets.token_bytes(n) for n in range(1, 9000, 7)]; del kept[::2]\n"
        "from mapl.students import load\n"
        "from mapl.students.exports.export import export_bytes\n"
        "for path in map(pathlib.Path, sys.argv[1:]):\n"
        "    for form in ('onnx', 'sklearn', 'json'):\n"
        "        try: print(hashlib.sha256(export_bytes(load(path), to=form)).hexdigest())\n"
        "        except Exception as refusal: print(refusal)\n"
    )
    paths = []
    for name in SAME_BYTES:
        paths.append(tmp_path / f"{name}.skops")
        save(student_of(name), paths[-1], statement=STATEMENT)
    ran = [
        subprocess.run(
            [sys.executable, "-c", program, *paths],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert ran[0] == ran[1]
    assert len(ran[0].split()) > len(FORMS) * len(SAME_BYTES) - 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("student", "words"),
    [
        (lambda: on_table("lgbm"), "is a LGBMClassifier, which exports do not hold"),
        (lambda: _on_text(), "column 'note' of kind text"),
    ],
    ids=["lgbm", "text"],
)
def test_what_no_export_holds_is_refused_in_words(student: Any, words: str, form: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        export_bytes(student(), to=form)


def _on_text() -> Student:
    import pyarrow as pa

    notes = pa.table({"note": [f"word{i % 7} and more of them here {i}" for i in range(60)], "n": np.arange(60.0)})
    return train_student(
        notes, (np.arange(60) % 2).astype(np.int32), classes=Classes(("no", "yes")), learner="ridge"
    )


def test_another_form_and_another_time_are_refused(tmp_path: Path) -> None:
    student = student_of("one class")
    with pytest.raises(InvalidParameter, match="onnx, sklearn, json; 'pmml' is none"):
        export(student, tmp_path / "student.pmml", to="pmml")
    export(student, str(tmp_path / "student.json"), to="json")
    with pytest.raises(InvalidParameter, match="exists already"):
        export(student, tmp_path / "student.json", to="json")
    with pytest.raises(InvalidParameter, match="cannot be written"):
        export(student, tmp_path / "nowhere" / "student.json", to="json")
    assert [one.name for one in tmp_path.iterdir()] == ["student.json"]


def test_a_column_may_be_called_as_anything_but_an_output() -> None:
    import pyarrow as pa

    def named(name: str) -> Student:
        table = pa.table({name: np.arange(60.0), "rows": np.arange(60.0) % 5})
        labels = (np.arange(60) > 30).astype(np.int32)
        return train_student(table, labels, classes=Classes(("0", "1")), learner="ridge")

    student = named("ü/'\" 0")
    session = onnxruntime.InferenceSession(export_bytes(student, to="onnx"), providers=["CPUExecutionProvider"])
    feed = {"ü/'\" 0": np.array([[1.0], [59.0]]), "rows": np.array([[0.0], [0.0]])}
    assert session.run(["predicted label"], feed)[0].tolist() == [0, 1]
    with pytest.raises(InvalidParameter, match="'probabilities' is called as an output"):
        export_bytes(named("probabilities"), to="onnx")


def test_rows_in_the_tests_have_gaps_and_strangers() -> None:
    """So that what is compared above is not only the easy part."""
    table = rows(300, 7)
    assert table["age"].null_count
    assert table["job"].null_count
    assert {"smith", "elsewhere"} <= {*table["job"].to_pylist(), *table["town"].to_pylist()}
