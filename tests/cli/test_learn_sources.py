"""`mapl learn` takes a private table from a folder, a pattern or a database, and publishes the same of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.data.sources import databases
from mapl.data.sources.spool import ScratchFile
from mapl.pipeline.runs import private_input

MOMENTS = ("--method", "moments", "--epsilon", 1, "--student", "auto", "--seed", 5)


def in_a_folder(table: pa.Table, folder: Path) -> str:
    for number, start in enumerate(range(0, len(table), 400)):
        pa.parquet.write_table(table.slice(start, 400), folder / f"{number}.parquet")
    return str(folder)


def in_a_database(table: pa.Table, folder: Path) -> str:
    import duckdb

    with duckdb.connect(str(folder / "clinic.duckdb")) as base:
        base.register("given", table)
        base.execute("CREATE TABLE visits AS SELECT * FROM given")
    return f"duckdb:///{folder / 'clinic.duckdb'}?table=visits"


@pytest.mark.parametrize("lay", [in_a_folder, in_a_database], ids=lambda one: one.__name__)
def test_the_place_of_a_table_changes_nothing(
    lay: Callable[[pa.Table, Path], str],
    mapl: Callable[..., Any],
    clinic: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does it matter whether the table waits in memory or in scratch files, which leave nothing behind."""
    (folder := tmp_path / "visits").mkdir()
    (scratch := tmp_path / "scratch").mkdir()
    address = lay(pa.parquet.read_table(clinic.private), folder)
    ran = mapl(*clinic.arguments(*MOMENTS, "--out", "one", teachers="auto"))
    assert ran.code == 0, ran.stderr
    stored: list[ScratchFile] = []
    write = ScratchFile.write
    monkeypatch.setattr(private_input, "SHARE_KEPT", 0.0)
    monkeypatch.setattr(ScratchFile, "write", lambda file, content: stored.append(file) or write(file, content))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    ran = mapl(*clinic.arguments(*MOMENTS, "--memory", "1GB", "--out", "other", private=address, teachers="auto"))
    assert ran.code == 0, ran.stderr
    assert stored
    assert not list(scratch.iterdir())
    for name in ("labels.parquet", "weights.parquet"):
        assert Path("one/public", name).read_bytes() == Path("other/public", name).read_bytes()
    check = json.loads(Path("other/private/check.json").read_text("utf-8"))
    assert check == json.loads(Path("one/private/check.json").read_text("utf-8"))
    public = b"".join(path.read_bytes() for path in Path("other/public").iterdir())
    assert b"clinic.duckdb" not in public


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("lots", "give a number and a unit"),
        ("4", "give a number"),
        ("1MB", "at least 64MiB"),
        ("1KB", "at least 64MiB"),
    ],
)
def test_odd_amounts_of_memory_are_refused(mapl: Callable[..., Any], clinic: Any, memory: str, words: str) -> None:
    ran = mapl(*clinic.arguments("--memory", memory))
    assert ran.code == 2
    assert words in ran.stderr
    assert not Path("run").exists()


@pytest.mark.parametrize("address", ["{folder}", "{folder}/*.parquet", "{folder}/*[c].parquet", "file://{file}"])
def test_public_rows_that_are_private_are_refused(mapl: Callable[..., Any], clinic: Any, address: str) -> None:
    given = address.format(folder=clinic.public.parent, file=clinic.public)
    ran = mapl(*clinic.arguments(private=given))
    assert ran.code == 2
    assert "names the private table itself" in ran.stderr


def test_features_that_are_public_come_in_one_file(mapl: Callable[..., Any], clinic: Any) -> None:
    given = ("--label", "diabetes", "--label-private", "--classes", "no,yes", "--epsilon", 1, "--out", "run")
    ran = mapl("learn", clinic.private.parent, *given, "--delta", 1e-5)
    assert ran.code == 2
    assert "takes a table in one file" in ran.stderr


def test_a_database_that_ends_the_connection_in_the_middle(
    mapl: Callable[..., Any], clinic: Any, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is spent, nothing is left behind, and the same command goes on when the database is there again."""
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(postgres) as base, base.cursor() as cursor:
        cursor.adbc_ingest("ended_visits", pa.parquet.read_table(clinic.private), mode="replace")
        base.commit()
    mark, real, times = "&" if "?" in postgres else "?", databases._tables, 600  # more than the driver reads ahead
    whole = f"{postgres}{mark}query=" + quote_plus("SELECT * FROM ended_visits")
    longer = f"{whole}{quote_plus(f', generate_series(1, {times}) AS n')}".replace(
        "%2A", quote_plus("ended_visits.*")
    )
    read: list[int] = []

    def ending(reader: Any) -> Any:
        for block in real(reader):
            read.append(len(block))
            yield block
            if len(read) == 1:
                with psycopg.connect(postgres, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'")

    with monkeypatch.context() as patch:
        patch.setattr(databases, "_tables", ending)
        ran = mapl(*clinic.arguments(*MOMENTS, private=longer, teachers="auto"))
    assert ran.code == 2, ran.stderr
    assert "the connection ended" in ran.stderr
    assert "Nothing was spent" in ran.stderr
    assert 0 < sum(read) < times * 1500  # rows had come in by then
    assert not Path("run").exists()
    assert mapl(*clinic.arguments(*MOMENTS, private=whole, teachers="auto")).code == 0


def test_a_scratch_disk_that_fills_up_and_is_emptied_again(
    mapl: Callable[..., Any], clinic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files may not grow beyond some size, as on a disk that is nearly full."""
    resource = pytest.importorskip("resource", reason="Windows has no limits of this kind")
    command = clinic.arguments(*MOMENTS, "--memory", "64MiB", teachers="auto")
    monkeypatch.setattr(private_input, "SHARE_KEPT", 0.0)
    usual, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
        ran = mapl(*command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (usual, most))
    assert ran.code == 2
    assert "does not fit into" in ran.stderr
    assert "Nothing was spent" in ran.stderr
    assert not Path("run").exists()
    assert mapl(*command).code == 0
