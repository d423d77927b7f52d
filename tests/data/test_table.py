"""Private tables are read by their schema alone; what does not fit is refused without a word about any cell."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data import Classes, Column, PrivateTable, Schema, digests, label_codes, private_table, read_table
from mapl.data.tables.classes import UNKNOWN
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import leave_out_unlabelled, public_codes
from mapl.errors import InvalidData, InvalidParameter, MaplError

SECRET = "8675309"
SCHEMA = Schema(
    (
        Column("age", "number"),
        Column("share", "number"),
        Column("town", "category", ("Bonn", "Köln", "Ulm, old")),
        Column("here", "category", ("false", "true")),
        Column("note", "text"),
        Column("day", "date"),
    ),
    label="y",
    classes=("no", "yes"),
    unit="person",
)
CLASSES = Classes(SCHEMA.classes)
TABLE = pa.table(
    {
        "person": pa.array([7, 8, 7], pa.int64()),
        "age": pa.array([31, None, 2**40], pa.int64()),
        "share": pa.array([0.1, 1.5, None], pa.float32()),
        "town": pa.array(["Ulm, old", "Köln", "Paris"]),
        "here": pa.array([True, False, None]),
        "note": pa.array(['say "hi"\nthere', "NA", None]),
        "day": pa.array([0, 10**15 + 1, None], pa.timestamp("us")),
        "y": pa.array(["no", "yes", "no"]),
    }
)


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=2)
    elif path.suffix == ".ipc":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)
    else:
        pa.feather.write_feather(table, path)
    return path


def read(path: Path, schema: Schema | None = SCHEMA) -> pa.Table:
    return read_table(path, what="private rows", schema=schema)


def private(table: Any, schema: Schema = SCHEMA, **how: Any) -> PrivateTable:
    how = {"label": "y", "classes": CLASSES, "unit": "person"} | how
    return private_table(table, schema=schema, **how)


def identities(table: PrivateTable) -> list[bytes]:
    return list(chain.from_iterable(digests(table.rows.open(), table.labels)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".arrow", ".ipc"])
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, suffix: str) -> None:
    table = private(read(write(TABLE, tmp_path / f"t{suffix}")))
    assert table.rows.open().column_names == list(SCHEMA.names)
    assert table.rows.open()["town"].to_pylist() == ["Ulm, old", "Köln", None]
    assert table.rows.open()["here"].to_pylist() == ["true", "false", None]
    assert table.rows.open()["note"].to_pylist() == ['say "hi"\nthere', "NA", ""]
    assert table.rows.open()["day"].to_pylist() == TABLE["day"].to_pylist()
    assert table.labels.tolist() == [0, 1, 0]
    assert table.labels.dtype == np.int32
    assert table.unit_ids.to_pylist() == [b"7", b"8", b"7"]
    assert identities(table) == identities(private(TABLE))


def test_csv_as_pandas_and_polars_write_it(tmp_path: Path) -> None:
    wanted = identities(private(TABLE))
    path = tmp_path / "t.csv"
    TABLE.to_pandas().to_csv(path, index=False)
    assert identities(private(read(path))) == wanted
    pl.DataFrame(TABLE).write_csv(path)
    assert identities(private(read(path))) == wanted
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n7,", b"\r\n7,"))
    assert identities(private(read(path))) == wanted
    path.write_text('\n y , age,share,town,here,note,day,person\nno, 31 ,0.1,"Ulm, old",TRUE,,,7\n')
    assert private(read(path)).rows.open()["age"].to_pylist() == [31]


def test_frames_give_the_same_table() -> None:
    declared = TABLE.slice(0, 2)  # without a town that the schema does not know
    wanted = identities(private(declared))
    assert identities(private(declared.to_pandas())) == wanted
    assert identities(private(pl.DataFrame(declared))) == wanted


def test_a_private_table_is_silent_and_holds_no_second_copy(tmp_path: Path) -> None:
    read_once = read(write(TABLE, tmp_path / "t.parquet"))
    table = private(read_once)
    for shown in (repr(table), str(table), f"{table}"):
        assert shown == "PrivateTable(private)"
    for name in SCHEMA.names:
        cells = table.rows.open()[name]
        assert cells.num_chunks == 1
        assert cells.chunk(0).buffers()[-1].address == read_once[name].chunk(0).buffers()[-1].address


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=8)
RECORDS = st.fixed_dictionaries(
    {
        "person": st.integers(0, 2**53).map(str),
        "age": st.none() | st.integers(-(2**53), 2**53),
        "share": st.none() | st.floats(width=32, allow_nan=False),
        "town": st.none() | st.sampled_from(["Bonn", "Köln", "Ulm, old", "Paris"]) | TEXTS,
        "here": st.none() | st.booleans(),
        "note": st.none() | TEXTS | st.sampled_from(['"', "a\nb", "NA", "x,y", "7", "nan", "=1"]),
        "day": st.none() | st.integers(-(10**15), 10**15),
        "y": st.sampled_from(["no", "yes"]),
    }
)


@settings(max_examples=40, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=5))
def test_any_small_table_reads_alike_from_any_file(records: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(records, schema=TABLE.schema.set(0, pa.field("person", pa.string())))
    with TemporaryDirectory() as folder:
        files = [write(table, Path(folder) / f"t{suffix}") for suffix in (".csv", ".parquet", ".feather")]
        first, *others = [private(read(path)) for path in files]
    for other in others:
        assert identities(other) == identities(first)
        assert other.unit_ids.to_pylist() == first.unit_ids.to_pylist()
    for frame in (first.rows.open().to_pandas(), pl.DataFrame(first.rows.open())):
        assert identities(PrivateTable(PrivateRows(frame), first.labels)) == identities(first)
    # A row is the same row whoever stands beside it.
    assert [one for record in records for one in identities(private(table_of(record)))] == identities(first)


def table_of(record: dict[str, Any]) -> pa.Table:
    with TemporaryDirectory() as folder:
        schema = TABLE.schema.set(0, pa.field("person", pa.string()))
        return read(write(pa.Table.from_pylist([record], schema=schema), Path(folder) / "t.csv"))


def test_no_row_changes_how_another_one_is_read(tmp_path: Path) -> None:
    """A guess would make this column text, numbers or dates, depending on the strangest row."""
    schema = Schema((Column("code", "category", ("01", "1", "x")), Column("n", "number")), label="y")
    rows = ["01,1,no", "1,2.5,no"]
    for strange in ("x,1e9,yes", "2024-01-01,,no", "true,-1,no", '"a\nb",nan,no'):
        (tmp_path / "t.csv").write_text("\n".join(["code,n,y", *rows, strange]) + "\n")
        table = read(tmp_path / "t.csv", schema)
        assert table["code"].to_pylist()[:2] == ["01", "1"]
        assert table["n"].to_pylist()[:2] == [1, 2.5]
        assert table.schema.types == [pa.dictionary(pa.int8(), pa.string()), pa.float64(), pa.large_binary()]


def test_public_files_are_guessed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    numbers = "".join(f"{i},{i}\n" for i in range(300_000))
    path.write_text("a,b\n" + numbers + "2.5,text\n")  # told by the last row only, in a later block
    table = read_table(path, what="public rows")
    assert table.schema.types == [pa.float64(), pa.string()]
    path.write_text("a,b\n01,1\n02,2\n")
    kept = read_table(path, what="public rows", as_text=("a", "not there"))
    assert kept.to_pydict() == {"a": ["01", "02"], "b": [1, 2]}


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        (["yes", "no", "yes"], "no,yes"),
        ([1, 0, 1], "0,1"),
        ([1.0, 0.0, 1.0], "0,1"),
        (["1", "0.0", " 1"], "0,1"),
        (["1", "0.0", " 1"], "00,1.0"),
        ([1.5, -2, 1.5], "-2,1.5"),
        ([True, False, True], "0,1"),
        ([True, False, True], "False,True"),
        ([True, False, True], "false,true"),
        (["TRUE", "false", "True"], "false,true"),
        (np.array([5, -1, 5]), "-1,5"),
        (np.array([b"yes", b"no", b"yes"]), "no,yes"),
        (pd.Series(["yes", "no", "yes"], dtype="category"), "no,yes"),
    ],
)
def test_labels_by_name_or_number(label: Any, classes: str) -> None:
    assert label_codes(label, Classes.parse(classes)).tolist() == [1, 0, 1]


@pytest.mark.parametrize("label", [[1, 0], [1.0, 0.0], ["1", "0"], [True, False], ["0", 1]])
def test_a_number_is_no_position_among_names(label: Any) -> None:
    """Labels 0 and 1 with --classes yes,no used to be taken for yes and no, and all was learned the wrong way."""
    assert label_codes(label, Classes.parse("yes,no")).tolist() == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(
    "label", [["no", SECRET], ["no", None], ["no", ""], ["no", 0], ["no", 0.5], ["no", b"\xff"]]
)
def test_foreign_labels_are_unknown_and_refused_in_public_rows_unquoted(label: Any) -> None:
    assert label_codes(label, CLASSES).tolist() == [0, UNKNOWN]
    with pytest.raises(InvalidData, match=r"none of the 2 declared classes \(no, yes\).*classes=") as refusal:
        public_codes(label, CLASSES, name="y")
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("cell", [None, "", "maybe", "0"])
def test_a_record_without_a_label_is_left_out_by_itself(cell: Any) -> None:
    odd = TABLE.set_column(TABLE.column_names.index("y"), "y", pa.array(["no", cell, "yes"]))
    kept = leave_out_unlabelled(private(odd))
    assert kept.labels.tolist() == [0, 1]
    assert identities(kept) == [identities(private(odd))[i] for i in (0, 2)]
    assert kept.n_left_out == 1  # person 8, who still counts where it is public who is in the table
    nobody = leave_out_unlabelled(private(odd.slice(1, 1)))
    assert len(nobody.rows) == 0
    assert identities(nobody) == []


@pytest.mark.parametrize("ids", [["a", None, "a"], ["a", " ", "b"], [1.0, float("nan"), 1.0]])
def test_a_record_of_nobody_is_left_out(ids: Any) -> None:
    table = private(TABLE.set_column(0, "person", pa.array(ids)))
    assert table.labels.tolist() == [0, 0]
    assert len(table.unit_ids) == 2


def test_columns_that_are_not_there() -> None:
    with pytest.raises(InvalidData, match=r"no column 'label', which is declared as the label.*with label"):
        private(TABLE, label="label")
    with pytest.raises(InvalidData, match=r"no column 'patient', which is declared as the unit.*with unit"):
        private(TABLE, unit="patient")
    with pytest.raises(InvalidData, match=r"have column 'person', which the schema does not declare"):
        private(TABLE, unit=None)
    with pytest.raises(InvalidData, match="lack column 'day'"):
        private(TABLE.drop_columns("day"))
    with pytest.raises(InvalidParameter, match="as the unit and as a column to learn from"):
        private(TABLE, unit="age")
    with pytest.raises(InvalidParameter, match="matrix"):
        private(np.zeros((2, 2)))
    with pytest.raises(InvalidData, match="one label per row"):
        PrivateTable(PrivateRows(np.zeros((3, 1))), np.zeros(2, dtype=np.int32))
    with pytest.raises(InvalidData, match="one id per row"):
        PrivateTable(PrivateRows(np.zeros((3, 1))), np.zeros(3, dtype=np.int32), pa.array([1]))


HEADER = "age,share,town,here,note,day,y,person\n"
ROW = f"1,2,Bonn,true,x,2024-01-31,no,{SECRET}\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "no rows"),
        (HEADER.replace(",", ";") + ROW.replace(",", ";"), "not separated by commas but by semicolons"),
        (HEADER.replace(",", "\t") + ROW.replace(",", "\t"), r"not separated by commas but by tabs.*name it \.tsv"),
        ("," + HEADER + "0," + ROW, "index=False"),
        (HEADER.replace("note", "") + ROW, "have no name"),
        (HEADER.replace("note", "town") + ROW, "two columns of one name"),
        (ROW + ROW, "write the names of the columns"),
        (f"{SECRET}a,b,c,d,e,f,g,h\n" + ROW, "few or none of the schema's columns"),
        (HEADER.replace("note,", ""), "lack column 'note'"),
        ((HEADER + ROW).encode("utf-16"), "holds text in UTF-16"),
        (b"PAR1" + ROW.encode(), "named .csv and holds Parquet"),
        (b"PK\x03\x04" + ROW.encode(), "spreadsheet"),
        (b"\x1f\x8b" + ROW.encode(), "compressed"),
    ],
)
def test_bad_csv(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidData, match=message) as refusal:
        read(path)
    assert SECRET not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_far_from_utf8_beyond_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER.encode() + ROW.encode() * 2000 + ROW.encode().replace(b"Bonn", b"K\xf6ln"))
    assert read(path)["town"].to_pylist() == ["Bonn"] * 2000 + [None]
    with pytest.raises(InvalidData, match="not text in UTF-8"):
        read(path, None)


@pytest.mark.parametrize(
    "odd",
    [
        ROW.replace("1,", "many years,", 1),
        ROW.replace("2024-01-31", "31 January"),
        ROW.replace("x", "x,y"),
        "1,2\n",
        ROW.replace("no", "perhaps"),
        ROW.replace("Bonn", "x" * (1 << 25)),
        ROW.encode().replace(b",x,", b",\xe9,"),
        b"\xff\xfe\x00,\n",
        b"",
    ],
    ids=["number", "date", "many cells", "few cells", "label", "long", "bytes", "only bytes", "nothing"],
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_odd_line_changes_no_other_row(tmp_path: Path, odd: str | bytes, at: int) -> None:
    rows = [ROW.encode(), ROW.replace("2,Bonn", "3.25,Köln").encode()]
    plain = tmp_path / "plain.csv"
    plain.write_bytes(HEADER.encode() + b"".join(rows))
    wanted = read(plain)
    path = tmp_path / "odd.csv"
    whole = [*rows[:at], odd if isinstance(odd, bytes) else odd.encode(), *rows[at:]]
    path.write_bytes(HEADER.encode() + b"".join(whole))
    table = read(path)
    assert table.schema == wanted.schema
    others = [i for i in range(table.num_rows) if table.num_rows == 2 or i != at]
    assert table.take(others).equals(wanted)


def test_a_table_of_no_rows_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEADER)
    write(TABLE.slice(0, 0), tmp_path / "t.parquet")
    for suffix in (".csv", ".parquet"):
        table = leave_out_unlabelled(private(read(tmp_path / f"t{suffix}")))
        assert len(table.labels) == len(table.unit_ids) == 0
        assert identities(table) == []


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(
        InvalidData, match=r"\.csv, \.csv\.gz, \.tsv, \.tsv\.gz, \.jsonl, .*, \.parquet, .* or \.ipc"
    ):
        read(tmp_path / "t.xlsx")
    with pytest.raises(InvalidData, match="There is no file"):
        read(tmp_path / "t.csv")
    for suffix in (".parquet", ".feather"):
        path = write(TABLE, tmp_path / f"t{suffix}")
        whole = path.read_bytes()
        for end in (1, 6, 40, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:end])
            with pytest.raises(InvalidData, match="damaged or cut off"):
                read(path)
    twice = pa.Table.from_arrays(TABLE.columns[:2] * 2, names=["a", "b", "a", "b"])
    with pytest.raises(InvalidData, match="two columns"):
        read(write(twice, tmp_path / "t.parquet"))
    image = Schema((Column("age", "number"), Column("pixels", "image", width=4)))
    (tmp_path / "t.csv").write_text("age,pixels\n1,2\n")
    with pytest.raises(InvalidData, match=r"'pixels' is an image, which \.csv cannot hold"):
        read(tmp_path / "t.csv", image)


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(TABLE, tmp_path / "t.parquet")
    path.chmod(0)
    with pytest.raises(InvalidData, match="check its permissions"):
        read(path)


def test_the_index_of_pandas_is_left_out(tmp_path: Path) -> None:
    frame = TABLE.to_pandas().set_index(np.array([5, 3, 1]))
    frame.to_parquet(tmp_path / "t.parquet")
    assert identities(private(read(tmp_path / "t.parquet"))) == identities(private(TABLE))


@settings(max_examples=100, deadline=None)
@given(
    content=st.binary(max_size=120) | st.text("ab,\n\"'10. ;\r", max_size=60).map(str.encode),
    suffix=st.sampled_from([".csv", ".parquet", ".feather"]),
    start=st.sampled_from([b"", b"a,b\n", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"]),
    declared=st.booleans(),
)
def test_any_bytes_are_read_or_refused_in_words(content: bytes, suffix: str, start: bytes, declared: bool) -> None:
    schema = Schema((Column("a", "number"), Column("b", "category", ("1", "x")))) if declared else None
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(start + content)
        try:
            assert read(path, schema).num_columns
        except MaplError as error:
            refusal = error
        else:
            return
    assert refusal.__cause__ is None
    assert len(str(refusal)) < 600
