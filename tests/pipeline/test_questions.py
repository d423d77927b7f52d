"""Questions over a wire: read as the schema says, the same however they are written, and never quoted."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data.reading.conform import conform
from mapl.data.reading.entries import numbers
from mapl.data.tables.column import Column
from mapl.data.tables.rows import take
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData
from mapl.pipeline.online.questions import QuestionForm

COLUMNS = (
    Column("smokes", "category", ("never", "7", "often")),
    Column("diagnosis", "category", ("E11", "7"), rest=True),
    Column("age", "number"),
    Column("note", "text"),
    Column("since", "date", order="day-first"),
    Column("weight", "number", blanks=("unknown",)),
    Column("active", "category", ("false", "true")),
    Column("scan", "image", width=3),
    Column("remark", "text"),
)
SCHEMA = Schema(COLUMNS, label="sick", unit="person")
FORM = QuestionForm(SCHEMA)

number = st.one_of(st.none(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
text = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=8))
category = st.one_of(st.none(), st.sampled_from(["never", " often ", "7", "7.0", "true", "FALSE", "x", "", " "]))
moment = st.datetimes()
date = st.one_of(
    st.none(),
    moment.map(lambda d: d.strftime("%Y-%m-%d %H:%M:%S").zfill(19)),
    moment.map(lambda d: f"{d.day}.{d.month}.{d.year:04d}"),
)
pixels = st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3)
row = st.tuples(category, category, number, text, date, number, category, pixels, text)


@given(st.lists(row, min_size=1, max_size=4))
def test_questions_are_read_as_tables_are(rows: list[Any]) -> None:
    table = FORM.table(FORM.read([list(one) for one in rows]))
    types = [pa.string(), pa.string(), pa.float64(), pa.string(), pa.string(), pa.float64(), pa.string()]
    types.append(pa.list_(pa.float64()))
    columns = [
        pa.array(list(cells), kind)
        for cells, kind in zip(zip(*rows, strict=True), [*types, pa.string()], strict=True)
    ]
    expected = conform(pa.table(columns, names=list(SCHEMA.names)), SCHEMA, "rows")
    for declared in COLUMNS:
        mine, theirs = table.column(declared.name), expected.column(declared.name)
        if declared.kind == "number":
            assert np.array_equal(numbers(mine), numbers(theirs), equal_nan=True)
        elif declared.kind == "image":
            flat = [np.array(one.to_pylist(), dtype=np.float32) for one in (mine, theirs)]
            assert np.array_equal(*flat)
        else:
            assert mine.to_pylist() == theirs.to_pylist()


@given(st.lists(row, min_size=1, max_size=4))
def test_lists_and_objects_are_one_question_and_the_batch_plays_no_part(rows: list[Any]) -> None:
    lists = [list(one) for one in rows]
    objects = [dict(reversed(list(zip(SCHEMA.names, one, strict=True)))) for one in rows]
    together = FORM.read(lists)
    assert together.tolist() == FORM.read(objects).tolist()
    assert together.tolist() == [FORM.read([one])[0] for one in lists]
    assert take(together, np.array([0])).tolist() == together[:1].tolist()
    again = json.loads(json.dumps(lists))
    assert together.tolist() == FORM.read(again).tolist()


def asked(**cells: Any) -> Any:
    plain = {
        "smokes": "never",
        "diagnosis": "E11",
        "age": 5,
        "note": "x",
        "since": "2024-01-31",
        "weight": 1.5,
        "active": True,
    }
    return FORM.read([{**plain, "scan": [1, 2, 3], "remark": None, **cells}])[0]


def test_one_value_in_several_spellings_is_one_question() -> None:
    assert asked(age=7) == asked(age=7.0) == asked(age="7") == asked(age=" 7 ")
    assert asked(age=0.0) == asked(age=-0.0)
    assert asked(age=None) == asked(age="") == asked(age="NA") == asked(age=math.nan)
    assert asked(smokes=7) == asked(smokes="7") == asked(smokes=7.0)
    assert asked(smokes="sometimes") == asked(smokes=None) == asked(smokes=" ")
    assert asked(diagnosis="E12") == asked(diagnosis="(rest)") == asked(diagnosis=8) != asked(diagnosis=None)
    assert asked(diagnosis="7.0") == asked(diagnosis=7) != asked(diagnosis="E11")
    assert asked(weight="unknown") == asked(weight=None)
    assert asked(since="31.1.2024") == asked(since="31/01/2024") == asked(since="2024-01-31")
    assert asked(active=True) == asked(active="true") == asked(active="True")
    assert asked(since="2024-01-31") == asked(since="2024-01-31 00:00:00") == asked(since="2024-01-31T00:00:00")
    assert asked(note=7) == asked(note="7") == asked(note=7.0)
    assert asked(remark=None) == asked(remark="")
    assert asked(sick="yes", person="p1") == asked()


def test_different_questions_have_different_bytes() -> None:
    spellings = [
        asked(),
        asked(age=6),
        asked(age=math.nextafter(5, 6)),
        asked(age=None),
        asked(weight=5, age=1.5),
        asked(note="x" * 2),
        asked(note="", remark="x"),
        asked(note="xa", remark="b"),
        asked(note="x", remark="ab"),
        asked(since=None),
        asked(since="2024-01-31 00:00:01"),
        asked(smokes="often"),
        asked(active=None),
        asked(scan=[1, 2, 4]),
        asked(scan=None),
    ]
    assert len(set(spellings)) == len(spellings)


SECRET = "capybara"


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"age": SECRET}, "Column 'age'"),
        ({"age": [1]}, "Column 'age'"),
        ({"age": {"a": SECRET}}, "Column 'age'"),
        ({"age": 10**400}, "Column 'age'"),
        ({"smokes": [SECRET]}, "Column 'smokes'"),
        ({"note": {SECRET: 1}}, "Column 'note'"),
        ({"note": "\ud800" + SECRET}, "Column 'note'"),
        ({"since": SECRET}, "Column 'since'"),
        ({"since": 20240131}, "Column 'since'"),
        ({"scan": [1, 2]}, "Column 'scan'"),
        ({"scan": [1, 2, SECRET]}, "Column 'scan'"),
        ({"scan": SECRET}, "Column 'scan'"),
        ({"scan": [1, 2, None]}, "Column 'scan'"),
        ({"scan": [[1], [2], [3]]}, "Column 'scan'"),
        ({"unknown": SECRET}, "'unknown', which the schema does not declare"),
    ],
)
def test_what_cannot_be_read_is_named_and_not_quoted(cells: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidData) as refusal:
        asked(**cells)
    assert words in str(refusal.value)
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("row", [None, 5, SECRET, [1], [], {}, {"age": 1}, [[]] * 7, {SECRET * 50: 1}])
def test_rows_that_are_none_are_refused(row: Any) -> None:
    with pytest.raises(InvalidData, match="questions") as refusal:
        FORM.read([row])
    assert len(str(refusal.value)) < 500


def test_nothing_but_what_there_is() -> None:
    assert FORM.read([]).shape == (0,)


def test_texts_of_a_large_request_are_read_all_at_once_and_say_what_they_say_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One call of pyarrow for each cell would let a single request keep a server busy for a minute."""
    form = QuestionForm(Schema((Column("n", "number"), Column("d", "date")), label="sick"))
    written = ["1", " 1.5 ", "-0", "inf", "nan", "NA", "", "1e400", True, 3, -0.0, None, 2**63]
    days = ["2024-01-31", "2024-01-31 13:45:00", "", " 2024-01-31 ", None]
    rows = [[number, day] for number in written for day in days]
    alone = [form.read([row])[0] for row in rows]
    calls = []
    read = "mapl.pipeline.online.question_cells.numbers"
    monkeypatch.setattr(read, lambda cells: calls.append(1) or numbers(cells))
    assert form.read(rows).tolist() == alone
    assert len(calls) == 1
    for bad in (["x", None], [None, "x"], ["\ud800", None]):
        with pytest.raises(InvalidData, match="cannot be read as the kind"):
            form.read([*rows, bad])


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["a", " a ", "b", "1", "1.0", "-0.0", "true", "", "2026-01-02", "x"]),
    st.just(-0.0),
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=2, max_size=12))
def test_many_rows_are_read_as_each_alone(rows: list[tuple[Any, ...]]) -> None:
    columns = (Column("n", "number"), Column("c", "category", ("a", "1", "true")), Column("d", "date"))
    form = QuestionForm(Schema((*columns, Column("t", "text"))))

    def read(some: list[tuple[Any, ...]]) -> list[bytes] | None:
        try:
            return list(form.read(some))
        except InvalidData:
            return None

    alone = [read([row]) for row in rows]
    together = read(rows)
    if any(one is None for one in alone):
        assert together is None
    else:
        assert together == [one[0] for one in alone if one is not None]
