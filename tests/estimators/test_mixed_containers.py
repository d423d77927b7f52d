"""Categories, moments in time zones, text and truth values say the same in any container and file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from mapl import PrivateClassifier
from mapl.data.units.shards import ShardKey

N, N_PUBLIC = 600, 120
WORDS = np.array(["seen", "well", "ill", "tired", "again", "twice", "never", "often"])
TOKYO = "Asia/Tokyo"
Columns = dict[str, Any]


@cache
def world() -> tuple[Columns, list[str], Columns]:
    """Draw private columns, labels and public columns; a tenth of the cells of each is missing."""
    rng = np.random.default_rng(0)
    n = N + N_PUBLIC
    number, moment = rng.integers(-40, 40, n) / 8, rng.integers(0, 900, n)
    colour, smokes = rng.choice(["red", "blue", "green"], n), rng.random(n) < 0.5
    drawn: Columns = {
        "number": number.tolist(),
        "colour": colour.tolist(),
        "smokes": smokes.tolist(),
        "seen": [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=int(one)) for one in moment],
        "note": [" ".join(rng.choice(WORDS, 7)) + f" {i}" for i in range(n)],
    }
    for name, cells in drawn.items():
        gone = rng.random(n) < (0 if name in ("note", "smokes") else 0.1)
        drawn[name] = [None if lost else cell for cell, lost in zip(cells, gone, strict=True)]
    labels = np.where(number + 2 * smokes + (colour == "red") + moment / 450 > 2.5, "yes", "no").tolist()
    private, public = ({name: cells[part] for name, cells in drawn.items()} for part in (slice(N), slice(N, None)))
    return private, labels[:N], public


def arrow(columns: Columns, zone: str = "UTC", unit: str = "us", **types: pa.DataType) -> pa.Table:
    kinds = {"number": pa.float64(), "colour": pa.string(), "smokes": pa.bool_(), "note": pa.string()} | types
    table = {name: pa.array(columns[name], kind) for name, kind in kinds.items()}
    return pa.table(table | {"seen": pa.array(columns["seen"], pa.timestamp(unit, zone))})


def levels(columns: Columns) -> pa.Table:
    """Return the table with colours as levels, in the order in which they occur; text would be a category so."""
    table = arrow(columns)
    return table.set_column(1, "colour", table["colour"].dictionary_encode())


CONTAINERS: dict[str, Callable[[Columns], Any]] = {
    "Arrow": arrow,
    "Arrow in Tokyo": lambda columns: arrow(columns, TOKYO, "ns", number=pa.float32(), note=pa.large_string()),
    "Arrow with levels": levels,
    "pandas": lambda columns: arrow(columns).to_pandas(),
    "pandas categories": lambda columns: arrow(columns).to_pandas().astype({"colour": "category"}),
    "pandas nullable": lambda columns: arrow(columns).to_pandas().convert_dtypes(),
    "pandas of Arrow": lambda columns: arrow(columns, TOKYO).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas objects": lambda columns: arrow(columns).to_pandas().astype(object),
    "polars": lambda columns: pl.DataFrame(arrow(columns)),
    "polars in Tokyo": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col("seen").dt.convert_time_zone(TOKYO), pl.col("colour").cast(pl.Categorical)
    ),
}
FILES = {
    "one.parquet": arrow,
    "other.parquet": CONTAINERS["Arrow in Tokyo"],
    "one.csv": arrow,
    "other.feather": levels,
}
METHODS: dict[str, dict[str, Any]] = {
    "teachers": {"method": "teachers", "n_teachers": 20},
    "cells": {"method": "cells", "n_cells": 30},
}


@cache
def released(container: str, method: str) -> tuple[int, ...]:
    private, labels, public = world()
    usual = {"epsilon": 4.0, "delta": 1e-5, "classes": ("no", "yes"), "student": "ridge", "seed": 5, "n_jobs": 1}
    put = CONTAINERS[container]
    clf = PrivateClassifier(**METHODS[method], **usual).fit(put(private), labels, public=put(public), groups="none")
    return tuple(clf.released_.tolist())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("container", [name for name in CONTAINERS if name != "Arrow"])
@pytest.mark.filterwarnings("ignore::mapl.PrivacyWarning")
def test_mixed_rows_in_any_container_give_the_same_labels(container: str, method: str) -> None:
    assert released(container, method) == released("Arrow", method)
    assert len(set(released("Arrow", method))) > 1


def test_moments_are_the_same_in_any_zone() -> None:
    here = arrow(world()[0])["seen"].to_pylist()
    there = arrow(world()[0], TOKYO)["seen"].to_pylist()
    assert here == there
    assert {one.tzinfo for one in there if one is not None} == {ZoneInfo(TOKYO)}


@pytest.mark.parametrize("method", METHODS)
def test_mixed_files_of_any_kind_give_the_same_labels(
    mapl: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str
) -> None:
    monkeypatch.setattr(ShardKey, "fresh", classmethod(lambda cls: cls(b"k" * 32)))
    private, labels, public = world()
    how = ("--method", "cells", "--cells", 30) if method == "cells" else ("--method", "teachers", "--teachers", 20)
    found = {}
    for name, put in FILES.items():
        paths = tmp_path / f"private {name}", tmp_path / f"public {name}"
        for table, path in zip((put(private).append_column("y", [labels]), put(public)), paths, strict=True):
            writers = {".csv": pa.csv.write_csv, ".parquet": pa.parquet.write_table}
            writers.get(path.suffix, pa.feather.write_feather)(table, path)
        ran = mapl(
            *("learn", paths[0], "--public", paths[1], "--label", "y", "--classes", "no,yes", "--epsilon", 4),
            *("--delta", 1e-5, "--student", "ridge", "--jobs", 1, "--seed", 5, "--unit", "none", *how),
            *("--out", tmp_path / f"run {name}"),
        )
        assert ran.code == 0, ran.stderr
        labels_of = pa.parquet.read_table(tmp_path / f"run {name}" / "public" / "labels.parquet")
        found[name] = labels_of["label"].to_pylist()
    assert {name: labels == found["one.parquet"] for name, labels in found.items()} == dict.fromkeys(found, True)
