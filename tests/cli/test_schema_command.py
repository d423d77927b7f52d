"""``mapl schema`` drafts a schema from public rows, prints it and writes it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from mapl.data import Schema, read_table

Mapl = Callable[..., Any]

N = 120
PUBLIC = pa.table(
    {
        "age": np.arange(N),
        "town": [("Ulm", "Köln", "Bonn", "Berlin", "Rom")[i % 5] for i in range(N)],
        "note": [f"a note of five words, number {i}" for i in range(N)],
        "weight": [None if i == 0 else i / 7 for i in range(N)],
        "day": pa.array(range(N), pa.date32()),
        "patient": [f"p{i}" for i in range(N)],
        "sick": [("no", "yes")[i % 2] for i in range(N)],
    }
)


@pytest.fixture
def public(tmp_path: Path) -> Path:
    pa.csv.write_csv(PUBLIC, tmp_path / "public.csv")
    return tmp_path / "public.csv"


def test_a_table_for_people_and_a_file_for_mapl(mapl: Mapl, public: Path, tmp_path: Path) -> None:
    ran = mapl("schema", public, "--label", "sick", "--unit", "patient")
    assert (ran.code, ran.stderr) == (0, "")
    for shown in (
        "age",
        "number",
        "centre 59.5",
        "category",
        "5 values: Berlin, Bonn,",
        "free text",
        "some missing",
    ):
        assert shown in ran.stdout
    assert "no, yes" in ran.stdout
    assert "Written to schema.json" in ran.stdout
    schema = Schema.read(tmp_path / "schema.json")
    assert schema.names == ("age", "town", "note", "weight", "day")
    assert (schema.label, schema.unit, schema.classes) == ("sick", "patient", ("no", "yes"))
    # What was drafted reads the file that it was drafted from.
    assert read_table(public, what="public rows", schema=schema).num_rows == N


def test_as_json(mapl: Mapl, tmp_path: Path) -> None:
    pa.parquet.write_table(PUBLIC.drop_columns(["sick", "patient"]), tmp_path / "public.parquet")
    ran = mapl(
        *("schema", "public.parquet", "--label", "sick", "--classes", "yes,no,maybe", "--unit", "patient"),
        *("--out", "s.json", "--json"),
    )
    assert (ran.code, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert json.loads(ran.stdout)["classes"] == ["yes", "no", "maybe"]


def test_undeclared_classes_are_pointed_out(mapl: Mapl, public: Path) -> None:
    ran = mapl("schema", public, "--label", "ill")
    assert ran.code == 0
    assert "classes not declared" in ran.stdout
    assert "no classes are declared yet" in ran.stderr


def test_columns_of_ids_are_pointed_out(mapl: Mapl, public: Path) -> None:
    ran = mapl("schema", public, "--label", "sick")
    assert ran.code == 0
    assert "mapl: warning: Columns 'age' (nearly all of its public values differ), 'patient' (" in ran.stderr
    assert "name it with --unit" in ran.stderr


def test_a_schema_is_never_written_over(mapl: Mapl, public: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("changed by hand")
    ran = mapl("schema", public)
    assert ran.code == 2
    assert "schema.json exists already" in ran.stderr
    assert "There is no file" in mapl("schema", tmp_path / "missing.csv").stderr
    for address in ("s3://bucket/rows.csv", "postgresql://ann:secret@host/clinic?table=rows"):
        told = " ".join(mapl("schema", address).stderr.split())
        assert f"{address.split(':')[0]}://... is an address, and this has to be a file: copy it here" in told
        assert "secret" not in told
    assert (tmp_path / "schema.json").read_text() == "changed by hand"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.csv",), "There is no file nothing.csv"),
        (("public.csv", "--classes", "yes"), "at least two different names"),
        (("public.csv", "--label", "age", "--unit", "age"), "must differ"),
        (("public.csv", "--label", "town", "--out", "no/where.json"), "cannot be written"),
        (("constant.csv", "--label", "a"), "1 different values"),
        (("constant.csv", "--label", "a", "--unit", "b", "--classes", "x,y"), "no columns"),
    ],
)
def test_bad_input(mapl: Mapl, public: Path, arguments: tuple[str, ...], message: str) -> None:
    (public.parent / "constant.csv").write_text("a,b\n1,2\n1,3\n")
    before = sorted(public.parent.iterdir())
    ran = mapl("schema", *arguments)
    assert (ran.code, ran.stdout) == (2, "")
    assert message in " ".join(ran.stderr.split())
    assert sorted(public.parent.iterdir()) == before


def test_the_command_line_starts_without_learners() -> None:
    code = "import sys, mapl.cli; print([m for m in ('sklearn', 'pandas', 'polars', 'skops') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_a_unit_spelled_nearly_like_a_column_is_pointed_out(mapl: Mapl, public: Path) -> None:
    ran = mapl("schema", public, "--label", "sick", "--unit", "patint")
    assert ran.code == 0
    assert "no column 'patint', which they need not have, but a column 'patient'" in " ".join(ran.stderr.split())
    assert "remove the schema file and give its name; if not, all is well" in " ".join(ran.stderr.split())
    elsewhere = mapl("schema", public, "--label", "outcome", "--unit", "household", "--out", "other.json")
    assert "need not have" not in elsewhere.stderr
