"""A table may be piped in, as text, JSON lines or Parquet: what is learned and predicted is the same."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from mapl.cli import app


def as_csv(table: pa.Table, separator: str = ",") -> bytes:
    sink = io.BytesIO()
    pa.csv.write_csv(table, sink, pa.csv.WriteOptions(delimiter=separator))
    return sink.getvalue()


def as_jsonl(table: pa.Table) -> bytes:
    return b"".join(json.dumps(row, default=str).encode() + b"\n" for row in table.to_pylist())


def as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    return sink.getvalue()


FORMS: dict[str, Callable[[pa.Table], bytes]] = {
    "csv": as_csv,
    "tsv": lambda table: as_csv(table, "\t"),
    "jsonl": as_jsonl,
    "parquet": as_parquet,
}


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run mapl with some standard input, and make sure that nothing of it is left behind."""
    monkeypatch.chdir(tmp_path)
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    def run(content: bytes, *arguments: Any) -> Any:
        result = CliRunner().invoke(app, [str(one) for one in arguments], input=content)
        assert not list(scratch.iterdir())
        return result

    return run


@pytest.mark.parametrize("form", FORMS)
def test_a_private_table_from_standard_input(pipe: Callable[..., Any], clinic: Any, form: str) -> None:
    table = pa.parquet.read_table(clinic.private).slice(0, 300)
    moments = ("--method", "moments", "--epsilon", 1, "--student", "auto", "--seed", 5)
    pa.parquet.write_table(table, "private.parquet")
    ran = pipe(b"", *clinic.arguments(*moments, "--out", "file", private=Path("private.parquet"), teachers="auto"))
    assert ran.exit_code == 0, ran.output
    ran = pipe(
        FORMS[form](table), *clinic.arguments(*moments, "--format", form, private=Path("-"), teachers="auto")
    )
    assert ran.exit_code == 0, ran.output
    for name in ("weights.parquet", "labels.parquet", "settings.json"):
        assert Path("file/public", name).read_bytes() == Path("run/public", name).read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_public_rows_and_rows_to_predict(pipe: Callable[..., Any], clinic: Any, form: str) -> None:
    public = pa.parquet.read_table(clinic.public)
    ran = pipe(FORMS[form](public), "schema", "-", "--format", form, "--out", "drafted.json")
    assert ran.exit_code == 0, ran.output
    Path("public.csv").write_bytes(as_csv(public))
    assert pipe(b"", "schema", "public.csv", "--out", "expected.json").exit_code == 0
    if form != "parquet":  # which says itself what its columns are
        assert json.loads(Path("drafted.json").read_text()) == json.loads(Path("expected.json").read_text())
    private = pa.parquet.read_table(clinic.private).slice(0, 300)
    pa.parquet.write_table(private, "private.parquet")
    arguments = clinic.arguments("--method", "moments", "--student", "auto", "--seed", 5, teachers="auto")
    arguments[1], arguments[3] = "private.parquet", "-"
    ran = pipe(FORMS[form](public), *arguments, "--format", form)
    assert ran.exit_code == 0, ran.output
    student, test = "run/public/student.skops", pa.parquet.read_table(clinic.test)
    assert pipe(b"", "predict", student, clinic.test, "--out", "of-file.csv").exit_code == 0
    assert pipe(FORMS[form](test), "predict", student, "-", "--format", form, "--out", "piped.csv").exit_code == 0
    assert Path("piped.csv").read_bytes() == Path("of-file.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("schema", "-"), "--format is missing; give one of csv, tsv, jsonl, parquet"),
        (("schema", "-", "--format", "xlsx"), "--format is 'xlsx'"),
        (("schema", "public.csv", "--format", "csv"), "no table is called -"),
        (("check", "-", "--public", "-", "--format", "csv", "--label", "y"), "Two tables are called -"),
        (("schema", "-", "--format", "csv"), "is empty"),
    ],
)
def test_what_cannot_be_is_said(pipe: Callable[..., Any], arguments: tuple[str, ...], words: str) -> None:
    ran = pipe(b"", *arguments)
    assert ran.exit_code == 2
    assert words in " ".join(ran.stderr.split())
