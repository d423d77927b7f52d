"""The same content in any container gives the same released labels, for teachers and for cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from mapl import PrivateClassifier
from mapl.data.units.shards import ShardKey

N, N_PUBLIC = 900, 120


def world(n_columns: int = 3) -> tuple[Any, Any, Any]:
    """Draw private rows, labels and public rows, with many zeros, and fractions that 32 bits hold."""
    drawn = np.random.default_rng(n_columns).integers(-8, 9, size=(N + N_PUBLIC, n_columns)) / 4
    rows = np.where(np.abs(drawn) < 0.5, 0, drawn) + 0.0
    return rows[:N], np.where(rows[:N, 0] + rows[:N, 1] > 0, "yes", "no"), rows[N:]


def named(rows: Any) -> dict[str, Any]:
    return {f"x{j}": rows[:, j] for j in range(rows.shape[1])}


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda rows: rows,
    "float32": lambda rows: rows.astype(np.float32),
    "Fortran": np.asfortranarray,
    "lists": lambda rows: rows.tolist(),
    "CSR": sp.csr_matrix,
    "CSR array": sp.csr_array,
    "CSC": sp.csc_matrix,
    "pandas": lambda rows: pd.DataFrame(named(rows)),
    "pandas Float32": lambda rows: pd.DataFrame(named(rows)).astype("Float32"),
    "polars": lambda rows: pl.DataFrame(named(rows)),
    "Arrow": lambda rows: pa.table(named(rows)),
}
METHODS: dict[str, dict[str, Any]] = {
    "teachers": {"learner": "ridge", "n_teachers": 20},
    "cells": {"method": "cells", "n_cells": 30},
}


@cache
def fitted(container: str, method: str, n_columns: int = 3, student: str = "ridge") -> PrivateClassifier:
    X, y, public = world(n_columns)
    settings = {"epsilon": 2.0, "delta": 1e-5, "classes": ("no", "yes"), "student": student, "seed": 5, "n_jobs": 1}
    put = CONTAINERS[container]
    return PrivateClassifier(**METHODS[method], **settings).fit(put(X), y, public=put(public))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("container", [name for name in CONTAINERS if name != "numpy"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_in_any_container_give_the_same_labels(container: str, method: str) -> None:
    wanted, found = (fitted(name, method) for name in ("numpy", container))
    assert np.array_equal(found.released_, wanted.released_)
    _, _, public = world()
    assert np.array_equal(found.predict(CONTAINERS[container](public)), wanted.predict(public))


@pytest.mark.parametrize("n_columns", [2, 5, 300])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_rows_are_learned_from_like_dense_ones(n_columns: int) -> None:
    """A narrow sparse matrix used to be taken for text, and boosting raised at any."""
    _, _, public = world(n_columns)
    sparse = fitted("CSR", "teachers", n_columns, student="hgb")
    assert sparse.predict(sp.csr_matrix(public)).shape == (N_PUBLIC,)
    if n_columns < 300:
        truth = np.where(public[:, 0] + public[:, 1] > 0, "yes", "no")
        cells = fitted("CSR", "cells", n_columns)
        dense = fitted("numpy", "cells", n_columns)
        assert np.array_equal(cells.released_, dense.released_)
        assert (cells.predict(sp.csr_matrix(public)) == truth).mean() > 0.85


def write(table: pa.Table, path: Path) -> Path:
    writers = {".csv": pa.csv.write_csv, ".parquet": pa.parquet.write_table, ".feather": pa.feather.write_feather}
    writers[path.suffix](table, path)
    return path


def whole(table: pa.Table) -> pa.Table:
    """Return the same table as a reader of CSV files would have typed it otherwise: numbers as text."""
    return table.cast(pa.schema([(name, pa.string()) for name in table.column_names]))


@pytest.mark.parametrize("method", METHODS)
def test_files_of_any_kind_give_the_same_labels(
    mapl: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str
) -> None:
    monkeypatch.setattr(ShardKey, "fresh", classmethod(lambda cls: cls(b"k" * 32)))
    X, y, public = world()
    private, asked = pa.table({**named(X), "y": y}), pa.table(named(public))
    how = ("--method", "cells", "--cells", 30) if method == "cells" else ("--learner", "ridge", "--teachers", 20)
    released = []
    for suffix in (".parquet", ".csv", ".feather", "as text.parquet"):
        own = whole(private) if suffix.startswith("as") else private
        paths = write(own, tmp_path / f"private{suffix}"), write(asked, tmp_path / f"public{suffix}")
        out = tmp_path / f"run{suffix}"
        ran = mapl(
            *("learn", paths[0], "--public", paths[1], "--label", "y", "--classes", "no,yes", "--epsilon", 2),
            *("--delta", 1e-5, "--student", "ridge", "--jobs", 1, "--seed", 5, "--out", out, *how),
        )
        assert ran.code == 0, ran.stderr
        released.append(pa.parquet.read_table(out / "public" / "labels.parquet"))
    assert all(one.equals(released[0]) for one in released)
