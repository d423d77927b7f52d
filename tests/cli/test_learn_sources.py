"""`mapl learn` takes a private table from a folder, a pattern or a database, and publishes the same of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

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
    ("memory", "words"), [("lots", "give a number and a unit"), ("4", "give a number"), ("1MB", "at least 64MiB")]
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
