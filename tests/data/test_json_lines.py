"""JSON lines: every line by itself, every cell by itself, and the same table as any other container gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapl.data import Column, Schema, draft_schema, read_table
from mapl.data.reading import json_lines
from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.text_file import JSON_LINES
from mapl.data.sources.source import source_of
from mapl.data.units.unit_names import unit_names
from mapl.errors import InvalidData

SCHEMA = Schema(
    (
        Column("age", "number"),
        Column("town", "category", ("Bonn", "7")),
        Column("note", "text"),
        Column("seen", "date"),
        Column("picture", "image", width=2),
    ),
    label="y",
    classes=("no", "yes"),
    unit="person",
)
RECORDS: list[dict[str, Any]] = [
    {
        "age": 61,
        "town": "Bonn",
        "note": "one\ntwo",
        "seen": "2024-01-31",
        "picture": [1, 0.5],
        "y": "yes",
        "person": 7,
    },
    {"age": 0.1, "town": 7, "note": "", "seen": "2024-02-29 12:00:00", "picture": None, "y": "no", "person": "7"},
    {"age": None, "town": None, "note": None, "seen": None, "picture": [2, 3], "y": "yes", "person": 2**53 + 1},
]
ODD_LINES = (
    b"",
    b"   \t",
    b"null",
    b"[1, 2]",
    b'"text"',
    b'{"age": 1',
    b"{'age': 1}",
    b"\xff\xfe\x00",
    b'{"age": 1} {"age": 2}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
)
ODD_CELLS = (
    *(1e308, -0.0, 10**5000, True, False, [], [[1]], {"age": 1}, {}, "\ud800", "\x00", "\u2028", "ü" * 5000),
    *("1e400", "007", " 7 ", "NaN", "", "[1, 2]", [1, "x"], [1, None], [1, 2, 3], ["1", "2"]),
)


def written(folder: Path, lines: list[bytes], name: str = ".jsonl", end: bytes = b"\n") -> Path:
    content = end.join([*lines, b""])
    path = folder / f"table{name}"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def dump(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


def spell_huge(record: dict[str, Any]) -> bytes:
    """Write whole numbers of any length, which Python's own limit keeps from being written."""
    return (
        json.dumps({name: "HUGE" if cell == 10**5000 else cell for name, cell in record.items()})
        .encode()
        .replace(b'"HUGE"', b"1" + b"0" * 5000)
    )


def private(path: Path) -> pa.Table:
    return read_table(path, what="private rows", schema=SCHEMA)


@pytest.fixture
def usual(tmp_path: Path) -> pa.Table:
    (tmp_path / "usual").mkdir()
    return private(written(tmp_path / "usual", [*map(dump, RECORDS)]))


@pytest.mark.parametrize("name", JSON_LINES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"], ids=["line feed", "both", "blank lines"])
def test_every_name_and_every_end_of_lines(tmp_path: Path, usual: pa.Table, name: str, end: bytes) -> None:
    assert private(written(tmp_path, [*map(dump, RECORDS)], name, end)).equals(usual)
    marked = [b"\xef\xbb\xbf" + dump(RECORDS[0]), *map(dump, RECORDS[1:])]
    assert private(written(tmp_path, marked, name, end)).equals(usual)


def test_the_same_content_in_another_container_is_the_same_table(tmp_path: Path, usual: pa.Table) -> None:
    cells = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}
    for name in ("town", "person"):
        cells[name] = [None if one is None else str(one) for one in cells[name]]
    pa.parquet.write_table(pa.table(cells), tmp_path / "table.parquet")
    stored = private(tmp_path / "table.parquet")
    assert stored.select(list(SCHEMA.names)).equals(usual.select(list(SCHEMA.names)))
    assert unit_names(stored["person"]).to_pylist() == unit_names(usual["person"]).to_pylist()
    assert stored["y"].to_pylist() == usual["y"].to_pylist()


def test_numbers_and_texts_say_the_same(tmp_path: Path, usual: pa.Table) -> None:
    """7, 7.0 and "7" are one number, one category and one person; a truth value is its word."""
    told = [
        b'{"age": "61", "town": "Bonn", "note": "one\\ntwo", "seen": "2024-01-31", "picture": ["1", 0.50], '
        b'"y": "yes", "person": 7.0}',
        b'{"age": 1e-1, "town": 7.00, "note": "", "seen": "2024-02-29 12:00", "y": "no", "person": "7"}',
        b'{"picture": [2.0, 3e0], "y": "yes", "person": 9007199254740993}',
    ]
    read = private(written(tmp_path, told))
    assert read.select(list(SCHEMA.names)).equals(usual.select(list(SCHEMA.names)))
    assert unit_names(read["person"]).to_pylist() == unit_names(usual["person"]).to_pylist()


@pytest.mark.parametrize("line", ODD_LINES, ids=lambda one: repr(one[:12]))
def test_a_line_that_is_no_object_is_left_out_by_itself(tmp_path: Path, usual: pa.Table, line: bytes) -> None:
    for place in range(len(RECORDS) + 1):
        lines = [*map(dump, RECORDS)]
        lines.insert(place, line)
        path = written(tmp_path, lines)
        assert private(path).equals(usual)
        torn = TornLines()
        assert sum(map(len, source_of(path).blocks(SCHEMA, torn))) == len(RECORDS)
        assert torn.n == bool(line.strip())


@pytest.mark.parametrize("cell", ODD_CELLS, ids=lambda one: repr(one)[:12] if one != 10**5000 else "huge")
def test_whatever_one_record_says_changes_no_other(tmp_path: Path, usual: pa.Table, cell: Any) -> None:
    odd = spell_huge(dict.fromkeys(RECORDS[0], cell))
    for lines, rest in (
        ([odd, *map(dump, RECORDS)], slice(1, None)),
        ([*map(dump, RECORDS), odd], slice(0, -1)),
    ):
        read = private(written(tmp_path, lines))
        assert len(read) == len(RECORDS) + 1
        assert read.take(np.arange(len(read))[rest]).equals(usual)


def test_keys_in_any_order_missing_twice_and_foreign(tmp_path: Path, usual: pa.Table) -> None:
    turned = [dict(reversed(record.items())) for record in RECORDS]
    without_nulls = [{name: cell for name, cell in record.items() if cell is not None} for record in RECORDS]
    foreign = [{"surplus": [1], **record, "": {}, "Age": 3} for record in RECORDS]
    for records in (turned, without_nulls, foreign):
        assert private(written(tmp_path, [*map(dump, records)])).equals(usual)
    twice = [b'{"age": "first", ' + dump(record)[1:] for record in RECORDS]
    assert private(written(tmp_path, twice)).equals(usual)


def test_no_key_that_anybody_has_is_no_reason_to_refuse(tmp_path: Path) -> None:
    """Whether some column is there is a matter of records, and none of them stops a run."""
    read = private(written(tmp_path, [b"{}"]))
    assert (len(read), read["age"].to_pylist(), read["y"].to_pylist()) == (1, [None], [None])
    nobody = private(written(tmp_path, [b"\n"]))
    assert (len(nobody), nobody.schema) == (0, read.schema)


@pytest.mark.parametrize("first", [b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"\xff\xfe{", b"ARROW1", b"\xff" * 4])
def test_what_the_first_record_begins_with_refuses_no_file(tmp_path: Path, usual: pa.Table, first: bytes) -> None:
    """There is no header: the first bytes of the file are somebody's."""
    assert private(written(tmp_path, [first, *map(dump, RECORDS)])).equals(usual)
    (tmp_path / "nobody.jsonl").write_bytes(b"")
    assert private(tmp_path / "nobody.jsonl").schema == usual.schema


def test_bytes_that_are_no_text_spoil_their_own_cell_only(tmp_path: Path, usual: pa.Table) -> None:
    spoilt = dump(RECORDS[0]).replace(b"Bonn", b"Bo\xffnn")
    read = private(written(tmp_path, [spoilt, *map(dump, RECORDS[1:])]))
    assert read["town"].to_pylist()[0] is None
    assert read.drop_columns(["town"]).equals(usual.drop_columns(["town"]))
    assert read.slice(1).equals(usual.slice(1))


def test_blocks_change_nothing(tmp_path: Path, usual: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LINES_AT_ONCE", 1)
    path = written(tmp_path, [*map(dump, RECORDS)])
    assert [len(block) for block in source_of(path).blocks(SCHEMA)] == [1, 1, 1]
    assert private(path).equals(usual)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=st.dictionaries(st.sampled_from([*RECORDS[0], "other"]), JSON), line=st.binary(max_size=30))
def test_any_record_and_any_line_leave_the_others_alone(
    tmp_path: Path, usual: pa.Table, record: dict[str, Any], line: bytes
) -> None:
    read = private(written(tmp_path, [dump(record), *map(dump, RECORDS)]))
    assert read.slice(1).equals(usual)
    read = private(written(tmp_path, [line.replace(b"\n", b""), *map(dump, RECORDS)]))
    assert read.slice(len(read) - len(RECORDS)).equals(usual)


# --- Public rows ----------------------------------------------------------------------------------


def test_public_rows_are_drafted_as_those_of_a_csv_file(tmp_path: Path) -> None:
    records = [
        {
            "age": 30 + i,
            "dose": i / 7 if i % 3 else None,
            "town": "ab"[i % 2],
            "seen": f"2024-01-{i + 1:02}",
            "ok": i > 3,
        }
        for i in range(20)
    ]
    lines = [",".join(records[0])]
    lines += [",".join("" if cell is None else str(cell) for cell in one.values()) for one in records]
    (tmp_path / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    of_csv = read_table(tmp_path / "table.csv", what="public rows", as_text=["town"])
    of_json = read_table(written(tmp_path, [*map(dump, records)]), what="public rows", as_text=["town"])
    assert of_json.schema == of_csv.schema
    assert draft_schema(of_json) == draft_schema(of_csv)
    assert of_json.equals(of_csv)


def test_public_lists_are_images(tmp_path: Path) -> None:
    records = [{"picture": [i, 0.5, 1, 2], "y": "no"} for i in range(5)]
    read = read_table(written(tmp_path, [*map(dump, records)]), what="public rows")
    assert read.column_names == ["picture", "y"]
    (drafted, _) = draft_schema(read).columns
    assert (drafted.kind, drafted.width) == ("image", 4)
    alone = read_table(written(tmp_path, [dump({"picture": [1, 2]})]), what="public rows")
    assert alone["picture"].to_pylist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([b'{"age": 1}', b"[1]"], "Line 2 of .* is no JSON object"),
        ([b'{"": 1}'], "key of .* is empty"),
        ([b'{"age": "\xff"}'], "not text in UTF-8"),
        ([b" "], "no rows"),
    ],
)
def test_public_rows_that_are_none_are_refused(tmp_path: Path, lines: list[bytes], words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        read_table(written(tmp_path, lines), what="public rows")


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "table.jsonl.gz").write_bytes(b'{"age": 1}\n')
    with pytest.raises(InvalidData, match=r"is named \.jsonl\.gz"):
        private(tmp_path / "table.jsonl.gz")
    (tmp_path / "table.jsonl").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(InvalidData, match=r"is named \.jsonl"):
        read_table(tmp_path / "table.jsonl", what="public rows")
    cut = gzip.compress(b'{"age": 1}\n' * 1000)[:-9]
    (tmp_path / "table.ndjson.gz").write_bytes(cut)
    with pytest.raises(InvalidData, match="damaged or cut off"):
        private(tmp_path / "table.ndjson.gz")
