"""The same rows from any place are the same private table: files, folders, stores, databases."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote_plus

import apsw
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from mapl.data.reading.csv_rows import TornLines
from mapl.data.sources.databases import DatabaseSource
from mapl.data.sources.source import source_of
from mapl.data.sources.stores import StoreSource
from mapl.data.sources.table_files import FileSource
from mapl.data.tables.classes import Classes
from mapl.data.tables.column import Column
from mapl.data.tables.schema import Schema
from mapl.data.units.shards import unit_bytes
from mapl.errors import InvalidData, InvalidParameter, MaplError
from mapl.pipeline.case import Declared
from mapl.pipeline.runs.private_input import read_private

N = 400
SMALL = 1
"""So little memory that every table goes to scratch files."""


def declared(unit: str | None = "person") -> Declared:
    columns = (
        Column("age", "number", cuts=(30.0, 50.0)),
        Column("ward", "category", categories=("north", "south")),
        Column("note", "text"),
    )
    schema = Schema(columns, label="ill", unit=unit, classes=("no", "yes"))
    return Declared(schema, "ill", Classes(("no", "yes")), unit)


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    dice = np.random.default_rng(3)
    ages = [None if i % 17 == 0 else round(float(x), 3) for i, x in enumerate(dice.uniform(20, 80, N))]
    return pa.table(
        {
            "age": pa.array(ages, pa.float64()),
            "ward": pa.array(np.where(dice.random(N) < 0.5, "north", "south")),
            "note": pa.array([f"came {i % 7} times" for i in range(N)]),
            "person": pa.array([None if i % 50 == 0 else f"p{i // 2}" for i in range(N)]),
            "ill": pa.array(["unsure" if i % 40 in (3, 4, 5) else "no" if i % 3 else "yes" for i in range(N)]),
        }
    )


def content(table: Any) -> tuple[Any, ...]:
    ids = None if table.unit_ids is None else table.unit_ids.to_pylist()
    return table.rows.open().to_pydict(), table.labels.tolist(), ids, table.n_left_out


def parts(table: pa.Table, n: int) -> Iterator[pa.Table]:
    for k in range(n):
        yield table.slice(k * len(table) // n, (k + 1) * len(table) // n - k * len(table) // n)


def one_csv(table: pa.Table, folder: Path) -> str:
    pa.csv.write_csv(table, folder / "visits.csv")
    return str(folder / "visits.csv")


def one_arrow(table: pa.Table, folder: Path) -> str:
    pa.feather.write_feather(table, folder / "visits.feather")
    return str(folder / "visits.feather")


def folder_of_parquet(table: pa.Table, folder: Path) -> str:
    (folder / "visits" / "more").mkdir(parents=True)
    for number, part in enumerate(parts(table, 3)):
        below = folder / "visits" / ("more" if number else "")
        pa.parquet.write_table(part, below / f"{number}.parquet")
    (folder / "visits" / "_SUCCESS").touch()
    (folder / "visits" / ".0.parquet.crc").touch()
    return str(folder / "visits")


def files_stored_differently(table: pa.Table, folder: Path) -> str:
    first, second, third = parts(table, 3)
    pa.parquet.write_table(first.set_column(0, "age", first["age"].cast(pa.decimal128(9, 4))), folder / "a.parquet")
    pa.csv.write_csv(second, folder / "b.csv")
    pa.feather.write_feather(third.set_column(1, "ward", third["ward"].dictionary_encode()), folder / "c.arrow")
    return str(folder / "?.*")


def a_store(table: pa.Table, folder: Path) -> str:
    return "file://" + folder_of_parquet(table, folder)


def a_store_of_fsspec(table: pa.Table, folder: Path) -> str:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://clinic/visits.parquet", "wb") as opened:
        pa.parquet.write_table(table, opened)
    return "memory://clinic/visits.parquet"


def a_duckdb(table: pa.Table, folder: Path) -> str:
    import duckdb

    with duckdb.connect(str(folder / "clinic.duckdb")) as base:
        base.register("given", table)
        base.execute("CREATE TABLE visits AS SELECT * FROM given")
    return f"duckdb:///{folder / 'clinic.duckdb'}?table=visits"


def an_sqlite(table: pa.Table, folder: Path) -> str:
    base = apsw.Connection(str(folder / "clinic.sqlite"))
    marks = ", ".join("?" * table.num_columns)
    base.execute(f"CREATE TABLE visits ({', '.join(table.column_names)})")
    with base:
        base.executemany(f"INSERT INTO visits VALUES ({marks})", zip(*table.to_pydict().values(), strict=True))
    base.close()
    return f"sqlite:///{folder / 'clinic.sqlite'}?query=" + quote_plus("SELECT * FROM visits ORDER BY rowid")


PLACES = [
    one_csv,
    one_arrow,
    folder_of_parquet,
    files_stored_differently,
    a_store,
    a_store_of_fsspec,
    a_duckdb,
    an_sqlite,
]


@pytest.mark.parametrize("memory", [None, SMALL], ids=["memory", "scratch"])
@pytest.mark.parametrize("place", PLACES, ids=lambda one: one.__name__)
def test_any_place_is_the_same_table(
    place: Callable[[pa.Table, Path], str], memory: int | None, visits: pa.Table, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    pa.parquet.write_table(visits, tmp_path / "one" / "visits.parquet")
    for unit in ("person", None):
        given = declared(unit)
        kept = visits if unit else visits.drop_columns("person")
        expected = read_private(_written(kept, tmp_path / "one"), given)
        (here := tmp_path / f"{unit}").mkdir()
        assert content(read_private(place(kept, here), given, memory=memory)) == content(expected)


def _written(table: pa.Table, folder: Path) -> Path:
    pa.parquet.write_table(table, folder / "visits.parquet")
    return folder / "visits.parquet"


def test_units_with_unlabelled_records_only_are_counted_once(tmp_path: Path) -> None:
    """In whichever blocks they are: p3 has a label in another file, p1 and p2 have none anywhere."""
    columns = {"age": [1.0, 2.0], "ward": ["north", "south"], "note": ["", ""]}
    visits = [(["p1", "p3"], ["?", "?"]), (["p1", "p2"], ["?", "?"]), (["p3", "p4"], ["no", "yes"])]
    for number, (people, labels) in enumerate(visits):
        table = pa.table({**columns, "person": people, "ill": labels})
        pa.parquet.write_table(table, tmp_path / f"{number}.parquet")
    table = read_private(tmp_path, declared(), memory=SMALL)
    assert table.n_left_out == 2
    assert unit_bytes(table.unit_ids).n_units == 2


def test_postgres_gives_the_same_table(visits: pa.Table, tmp_path: Path, postgres: str) -> None:
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(postgres) as base, base.cursor() as cursor:
        cursor.adbc_ingest("visits", visits, mode="replace")
        base.commit()
    mark = "&" if "?" in postgres else "?"
    expected = read_private(_written(visits, tmp_path), declared())
    assert content(read_private(f"{postgres}{mark}table=visits", declared(), memory=SMALL)) == content(expected)
    with pytest.raises(InvalidData, match="cannot be read") as told:
        read_private(f"{postgres}{mark}query=" + quote_plus("SELECT CAST(note AS INTEGER) FROM visits"), declared())
    assert "came" not in str(told.value)  # PostgreSQL's own words quote the cell


def test_settings_of_a_server_reach_libpq_as_they_are_written(postgres: str) -> None:
    """Its settings take a blank as %20 only: a plus is a plus there, as in a password."""
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(postgres) as base, base.cursor() as cursor:
        cursor.execute("CREATE SCHEMA apart")
        cursor.execute(
            "CREATE TABLE apart.hidden AS SELECT 1 AS age, 'north' AS ward, 'x' AS note, 'yes' AS ill, 7 AS person"
        )
        base.commit()
    mark = "&" if "?" in postgres else "?"
    for address in (
        f"{postgres}{mark}options=-c%20search_path%3Dapart&table=hidden",
        f"{postgres}{mark}table=hidden&options=-c%20search_path%3Dapart&application_name=a+b",
        f"{postgres}{mark}%74able=apart.hidden&",
    ):
        assert len(read_private(address, declared()).labels) == 1
    of = DatabaseSource.of("postgresql://me@host/clinic?passfile=%2Fa+b%20c&table=visits&")
    assert of.place == "postgresql://me@host/clinic?passfile=%2Fa+b%20c"


@pytest.mark.parametrize(
    ("address", "same"),
    [
        ("gs://anonymous@bucket/visits", "gs://anonymous@bucket/visits?retry_limit_seconds=60"),
        ("gs://anonymous@bucket/visits?scheme=http", "gs://anonymous@bucket/x?scheme=http&retry_limit_seconds=60"),
        ("gs://anonymous@bucket/visits?retry_limit_seconds=7", "gs://anonymous@bucket/x?retry_limit_seconds=7"),
    ],
)
def test_a_google_store_that_is_out_of_reach_is_not_waited_for_long(address: str, same: str) -> None:
    found = StoreSource.of(address)
    assert found.files.equals(pa.fs.FileSystem.from_uri(same)[0])
    assert not found.files.equals(pa.fs.FileSystem.from_uri("gs://anonymous@bucket/x")[0])
    assert (found.name, found.path) == ("gs://bucket/visits", "bucket/visits")


def test_a_table_that_is_no_parquet_file_at_an_address_is_told_so(visits: pa.Table, tmp_path: Path) -> None:
    address = f"file://{one_csv(visits, tmp_path)}"
    with pytest.raises(
        InvalidData, match=r"is no \.parquet file, or a damaged one; at an address only .* are read"
    ):
        read_private(address, declared())


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("nowhere/*.parquet", "names no table"),
        ("nowhere", "There is no file nowhere"),
        ("sqlite:///nowhere.sqlite", "does not say what to read"),
        ("sqlite:///nowhere.sqlite?table=visits", "cannot be read"),
        ("duckdb:///nowhere.duckdb?table=visits", "cannot be read"),
        ("postgresql://me:secret@127.0.0.1:1/clinic?table=visits", "cannot be read"),
        ("file:///nowhere/visits.parquet", "no .parquet file at"),
        ("strange://me:secret@nowhere/visits", "strange://nowhere/visits cannot be opened"),
        (
            "PostgreSQL://me:secret@127.0.0.1:1/clinic?table=visits",
            "postgresql://127.0.0.1:1/clinic cannot be read",
        ),
        ("postgresql://me:se?cret@127.0.0.1:1/clinic?table=visits", "postgresql://127.0.0.1:1/clinic"),
        ("postgresql://me:[secret@127.0.0.1:1/clinic?table=visits", "is no address"),
        ("sqlite://clinic.sqlite?table=visits", "with three slashes"),
    ],
)
def test_what_is_not_there_is_told_in_words(address: str, words: str) -> None:
    with pytest.raises(MaplError, match=words) as told:
        read_private(address, declared())
    assert "cret" not in str(told.value)


@pytest.mark.parametrize("store", [False, True])
def test_files_that_disagree_are_named_before_a_row_is_read(
    visits: pa.Table, tmp_path: Path, store: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa.parquet.write_table(visits, tmp_path / "a.parquet")
    pa.parquet.write_table(visits.drop_columns("age"), tmp_path / "b.parquet")
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", None)
    address = f"file://{tmp_path}" if store else tmp_path
    with pytest.raises(InvalidData, match=r"private rows of .*b\.parquet lack column 'age'"):
        read_private(address, declared())
    pa.parquet.write_table(visits.append_column("more", visits["age"]), tmp_path / "b.parquet")
    with pytest.raises(InvalidData, match=r"private rows of .*b\.parquet have column 'more'"):
        read_private(address, declared())


def test_lines_of_text_that_disagree_are_named(visits: pa.Table, tmp_path: Path) -> None:
    for name, table in (("a", visits), ("b", visits.drop_columns("age"))):
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
    with pytest.raises(InvalidData, match=r"private rows of .*b\.csv lack column 'age'"):
        read_private(tmp_path, declared())


def test_an_empty_table_has_no_rows(visits: pa.Table, tmp_path: Path) -> None:
    for place in (one_csv, folder_of_parquet, a_duckdb, an_sqlite):
        (here := tmp_path / place.__name__).mkdir()
        assert len(read_private(place(visits.slice(0, 0), here), declared()).labels) == 0


def test_a_long_cell_makes_blocks_larger_and_repeats_no_row(
    visits: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading begins anew where a row is longer than a block; what was told before is not told again."""
    monkeypatch.setattr("mapl.data.reading.csv_rows.BLOCK", 2000)
    notes = visits["note"].to_pylist()
    notes[300] = "long " * 1000
    longer = visits.set_column(2, "note", pa.array(notes))
    path = one_csv(longer, tmp_path)
    with open(path, "a") as opened:
        opened.write("1,2,3\n")
    expected = read_private(_written(longer, tmp_path), declared())
    torn = TornLines()
    blocks = list(source_of(path).blocks(declared().schema, torn))
    assert len(blocks) > 3
    assert torn.n == 1
    assert content(read_private(path, declared())) == content(expected)


def test_a_query_of_two_columns_of_one_name_is_refused(visits: pa.Table, tmp_path: Path) -> None:
    address = an_sqlite(visits, tmp_path).replace("%2A", "*").replace("SELECT+*", "SELECT+*,age+AS+age")
    with pytest.raises(InvalidData, match="two columns one name"):
        read_private(address, declared())
    with pytest.raises(InvalidParameter, match="does not say what to read"):
        source_of("sqlite:///x?table=a&query=b")


def test_text_that_is_no_utf8_is_one_cells_affair(visits: pa.Table, tmp_path: Path) -> None:
    """Latin-1 of an old program in one person's cell stopped the whole run."""
    address = an_sqlite(visits, tmp_path)
    before = content(read_private(address, declared()))
    base = apsw.Connection(str(tmp_path / "clinic.sqlite"))
    base.execute("UPDATE visits SET note = CAST(x'4dfc6e' AS TEXT), ward = CAST(x'fc' AS TEXT) WHERE rowid = 12")
    base.close()
    after = content(read_private(address, declared()))
    for name in ("age", "ward", "note"):
        pairs = zip(before[0][name], after[0][name], strict=True)
        assert sum(one != other for one, other in pairs) == (name != "age")
    assert after[1:] == before[1:]


def test_where_blocks_end_changes_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow drops the second half of a line end that a block begins with, even within quotation marks."""
    monkeypatch.setattr("mapl.data.reading.csv_rows.BLOCK", 64)
    found = set()
    for n_letters in range(24):
        lines = [f"1,north,{'a' * n_letters},p1,no", '2,south,"x\r\ny",p2,yes', "3,north,z,p3,no"]
        path = tmp_path / "visits.csv"
        path.write_bytes("\r\n".join(["age,ward,note,person,ill", *lines, ""]).encode())
        found.add(tuple(read_private(path, declared()).rows.open().column("note").to_pylist()[1:]))
    assert found == {("x\r\ny", "z")}


def test_leftovers_are_passed_over_everywhere(visits: pa.Table, tmp_path: Path) -> None:
    for name in ("a.parquet", "UP.PARQUET", "_temporary/part.parquet", ".hidden.parquet", "x/.y/z.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(visits, tmp_path / name)
    n = len(read_private(tmp_path / "a.parquet", declared()).labels)
    for address in (str(tmp_path), f"file://{tmp_path}", f"{tmp_path}/**/*.[pP]*"):
        assert len(read_private(address, declared()).labels) == 2 * n, address


def test_links_to_folders_are_followed_and_lead_nowhere_twice(visits: pa.Table, tmp_path: Path) -> None:
    """Object stores and patterns follow them; without a word, a folder would be another table than its address."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (folder := tmp_path / "visits" / "years").mkdir(parents=True)
    for number, part in enumerate(parts(visits, 4)):
        pa.parquet.write_table(part, (elsewhere if number % 2 else folder) / f"{number}.parquet")
    (folder / "more").symlink_to(elsewhere)
    (folder / "up").symlink_to(folder)
    (elsewhere / "back").symlink_to(tmp_path / "visits")
    found = FileSource.of(tmp_path / "visits").paths
    assert [one.name for one in found] == ["0.parquet", "2.parquet", "1.parquet", "3.parquet"]
    assert len(read_private(tmp_path / "visits", declared()).labels) == len(
        read_private(_written(visits, tmp_path), declared()).labels
    )


def test_a_folder_that_cannot_be_read_is_told_and_not_left_out(visits: pa.Table) -> None:
    """Whoever may read everything becomes nobody for a moment; what others left behind is not looked at."""
    with TemporaryDirectory() as name:
        (root := Path(name)).chmod(0o755)
        pa.parquet.write_table(visits, root / "a.parquet")
        for closed in ("_temporary", "years"):
            (root / closed).mkdir(mode=0o000)
            before = os.geteuid()
            try:
                if before == 0:
                    os.seteuid(65534)
                if closed == "years":
                    with pytest.raises(InvalidData, match=r"years cannot be read \(Permission denied\); let"):
                        FileSource.of(root)
                else:
                    assert FileSource.of(root).paths == (root / "a.parquet",)
            finally:
                os.seteuid(before)
                (root / closed).chmod(0o700)


def test_a_zero_below_zero_is_itself_among_any_cells(visits: pa.Table, tmp_path: Path) -> None:
    address = an_sqlite(visits.slice(0, 3), tmp_path)
    base = apsw.Connection(str(tmp_path / "clinic.sqlite"))
    base.execute("UPDATE visits SET age = -0.0 WHERE rowid = 2")
    told = set()
    for other in ("1.5", "'many'", "7"):
        base.execute(f"UPDATE visits SET age = {other} WHERE rowid = 3")
        told.add(repr(read_private(address, declared()).rows.open().column("age")[0].as_py()))
    base.close()
    assert told == {"-0.0"}


def test_an_address_that_cannot_be_opened_is_told_which_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)  # as where it is not installed
    with pytest.raises(InvalidData, match=r"az://bucket/visits cannot be opened: .*pip install adlfs"):
        StoreSource.of("az://me:secret@bucket/visits")
    with pytest.raises(InvalidData, match="its kind is not known here"):
        StoreSource.of("gopher://bucket/visits")
