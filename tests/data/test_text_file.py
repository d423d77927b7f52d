"""Text is text: commas or tabs, compressed or not, the same cells are read, each by itself."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.data import Column, Schema, draft_schema, read_table
from mapl.data.reading import public_csv
from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.text_file import SEPARATORS
from mapl.data.sources.source import source_of
from mapl.errors import InvalidData

SCHEMA = Schema(
    (Column("age", "number"), Column("town", "category", ("Bonn", "Ulm, old")), Column("note", "text")),
    label="y",
    classes=("no", "yes"),
    unit="person",
)
HEADER = ["age", "town", "note", "y", "person"]
ROWS = [
    ["61", "Bonn", 'said "no", twice', "yes", "7"],
    ["1e400", "Ulm, old", "two\nlines", "no", "7.0"],
    ["NA", "", "a\ttab", "maybe", "9007199254740993"],
    ["", "Köln", "", "", ""],
]
TORN = ["1", "Bonn"]


def written(folder: Path, name: str, rows: list[list[str]], header: list[str] = HEADER) -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=SEPARATORS[name]).writerows([header, *rows])
    content = text.getvalue().encode()
    path = folder / f"table{name}"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", SEPARATORS)
def test_private_cells_are_the_same_in_every_form(tmp_path: Path, name: str) -> None:
    expected = read_table(written(tmp_path, ".csv", ROWS), what="private rows", schema=SCHEMA)
    path = written(tmp_path, name, [*ROWS[:2], TORN, *ROWS[2:]])
    assert read_table(path, what="private rows", schema=SCHEMA).equals(expected)
    torn = TornLines()
    blocks = list(source_of(path).blocks(SCHEMA, torn))
    assert (sum(map(len, blocks)), torn.n) == (len(ROWS), 1)


@pytest.mark.parametrize("name", SEPARATORS)
def test_one_odd_cell_changes_no_other(tmp_path: Path, name: str) -> None:
    usual = read_table(written(tmp_path, name, ROWS), what="private rows", schema=SCHEMA)
    odd = [["\ufffd" * 40, "x", "\x00", "?", "{}"], *ROWS[1:]]
    moved = read_table(written(tmp_path, name, odd), what="private rows", schema=SCHEMA)
    assert moved.slice(1).equals(usual.slice(1))


@pytest.mark.parametrize("name", SEPARATORS)
def test_public_rows_are_guessed_alike(tmp_path: Path, name: str) -> None:
    rows = [["61", "Bonn", "a", "no", "1"], ["", "Ulm, old", "b", "yes", "2"]]
    expected = read_table(written(tmp_path, ".csv", rows), what="public rows")
    assert read_table(written(tmp_path, name, rows), what="public rows").equals(expected)


@pytest.mark.parametrize("name", SEPARATORS)
def test_codes_with_zeros_in_front_are_categories_in_every_form(tmp_path: Path, name: str) -> None:
    codes = [f"{place % 40:05}" for place in range(120)]
    header, rows = ["code", "amount", "y"], [[code, str(int(code) + 1), "no"] for code in codes]
    rows[3][0], rows[4][0], rows[5][0] = "", "NA", " 00005 "
    public = read_table(written(tmp_path, name, rows, header), what="public rows")
    held = pa.table({"code": pa.array([*codes[:3], None, None, *codes[5:]]), "amount": public.column("amount")})
    schema = draft_schema(public, label="y", classes=("no", "yes"))
    assert schema.columns == draft_schema(held).columns
    assert [column.kind for column in schema.columns] == ["category", "number"]
    private = read_table(written(tmp_path, name, rows, header), what="private rows", schema=schema)
    assert private.column("code").to_pylist() == held.column("code").to_pylist()


@pytest.mark.parametrize("name", SEPARATORS)
def test_public_text_of_several_blocks_is_read_as_that_of_one(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is larger than two gigabytes has several, which is a smaller number here."""
    header = ["whole", "later 1.5", "later words", "code", "note"]
    rows = [[str(i), str(i), str(i), str(i + 1), "a\r\nb" * 7] for i in range(90)]
    rows += [[str(i), f"{i}.5", "none", f"{i:05}", ""] for i in range(90)]
    path = written(tmp_path, name, rows, header)
    expected = read_table(path, what="public rows")
    kinds = [str(kind) for kind in expected.schema.types]
    assert kinds == ["int64", "double", "string", "large_string", "string"]
    monkeypatch.setattr(public_csv, "LARGEST_BLOCK", 1 << 10)
    assert read_table(path, what="public rows").equals(expected)


def test_a_folder_takes_all_forms(tmp_path: Path) -> None:
    for name in SEPARATORS:
        written(tmp_path, name, ROWS)
    assert sum(map(len, source_of(tmp_path).blocks(SCHEMA))) == len(SEPARATORS) * len(ROWS)


def test_a_pattern_where_one_file_is_asked_for_is_called_one(tmp_path: Path) -> None:
    written(tmp_path, ".csv", ROWS)
    for name in ("*.csv", "*", "ro?s.csv", "[a-z]*.parquet"):
        with pytest.raises(InvalidData, match=r"is a pattern, and this has to be one file"):
            read_table(tmp_path / name, what="public rows")
    odd = written(tmp_path, ".csv", ROWS).rename(tmp_path / "odd[1].csv")  # a name that only looks like one
    assert len(read_table(odd, what="public rows")) == len(ROWS)
    with pytest.raises(InvalidData, match=r"There is no file"):
        read_table(tmp_path / "absent.csv", what="public rows")


def test_a_name_that_promises_another_separator_or_compression_is_told(tmp_path: Path) -> None:
    wrong = written(tmp_path, ".csv", ROWS).rename(tmp_path / "commas.tsv")
    with pytest.raises(InvalidData, match=r"not separated by tabs but by commas;.* with tabs, or name it \.csv\.$"):
        read_table(wrong, what="private rows", schema=SCHEMA)
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text("number;word\n1,5;a\n", "utf-8")
    for schema in (SCHEMA, None):  # private rows and public ones, whose first lines are both public
        with pytest.raises(InvalidData, match=r"by semicolons; write it again with commas, and with points in"):
            read_table(semicolons, what="rows", schema=schema)
    plain = written(tmp_path, ".tsv", ROWS).rename(tmp_path / "plain.tsv.gz")
    with pytest.raises(InvalidData, match=r"is named \.tsv\.gz and holds something else"):
        read_table(plain, what="private rows", schema=SCHEMA)


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["private", "public"])
def test_a_compressed_file_that_was_cut_off_is_told_in_words(tmp_path: Path, schema: Schema | None) -> None:
    path = written(tmp_path, ".csv.gz", ROWS * 2000)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InvalidData, match="damaged or cut off"):
        read_table(path, what="rows", schema=schema)


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["private", "public"])
def test_twins_are_named_where_names_are_stored_and_nowhere_else(tmp_path: Path, schema: Schema | None) -> None:
    # The first line of text may be somebody's row; what Parquet calls names are names.
    header = [*HEADER[:4], "town"]
    table = pa.table([pa.array(["1"])] * len(header), names=header)
    pa.parquet.write_table(table, tmp_path / "table.parquet")
    with pytest.raises(InvalidData, match="two columns named 'town'"):
        read_table(tmp_path / "table.parquet", what="rows", schema=schema)
    with pytest.raises(InvalidData, match="two columns of one name, or no line with names") as refused:
        read_table(written(tmp_path, ".tsv", ROWS, header), what="rows", schema=schema)
    assert "town" not in str(refused.value)


@pytest.mark.parametrize("name", [".csv", ".csv.gz", ".tsv", ".jsonl"])
def test_public_rows_are_held_by_pyarrow_alone(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its threads let go of objects of Python's too late for a command that ends at once, and abort it."""
    given: list[str] = []

    def read(source: pa.NativeFile, **options: object) -> pa.Table:
        given.append(type(source).__name__)
        return original_read(source, **options)

    def reader(content: object) -> pa.NativeFile:
        assert isinstance(content, pa.Buffer)  # bytes belong to Python
        return original_reader(content)

    original_read, original_reader = pa.csv.read_csv, pa.BufferReader
    monkeypatch.setattr(pa.csv, "read_csv", read)
    monkeypatch.setattr(pa, "BufferReader", reader)
    if name == ".jsonl":
        path = tmp_path / "table.jsonl"
        path.write_text('{"age": 61, "town": "Bonn"}\n' * 3, encoding="utf-8")
    else:
        path = written(tmp_path, name, ROWS)
    assert len(read_table(path, what="public rows")) in (3, len(ROWS))
    assert given
    assert {*given} <= {"OSFile", "BufferReader"}
