"""Columns of ids are found by their names and by public values that hardly ever repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mapl.data import conformed, draft
from mapl.data.id_columns import id_warning
from mapl.data.synthetic import LABEL, UNIT, Clinic

N = 200


def warned(cells: Any, name: str = "thing", *, unit: str | None = None) -> str | None:
    """Judge one column of a public table as it was read, and as the pipeline keeps it."""
    table = pa.table({name: cells, "other": pa.array(["a", "b"] * (len(cells) // 2))})
    schema = draft(table, unit=unit)
    raw, kept = id_warning(table, schema), id_warning(conformed(table, schema, "public rows"), schema)
    assert raw == kept
    return raw


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "PatientID", "patientId", "user uuid", "SSN", "mrn"])
def test_names(name: str) -> None:
    said = warned(pa.array([i % 5 for i in range(N)]), name)
    assert said is not None
    assert f"Column {name!r} (by its name) may hold ids" in said
    assert "name it with --unit" in said
    assert "protected separately" in said


@pytest.mark.parametrize("name", ["paid", "valid", "covid", "grid", "idle", "identity", "x1", "1"])
def test_names_that_only_sound_like_it(name: str) -> None:
    assert warned(pa.array([i % 5 for i in range(N)]), name) is None


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(range(N)),
        pa.array([10**17 + i for i in range(N)]),
        pa.array([None if i == 3 else float(1000 + i) for i in range(N)]),
        pa.array([f"p{i}" for i in range(N)]),
        pa.array([f"Anna {i} Smith" for i in range(N)]),
        pa.array([f"p{min(i, 195)}" for i in range(N)]).dictionary_encode(),
    ],
    ids=["row numbers", "long numbers", "one missing", "codes", "names", "dictionary"],
)
def test_values_that_hardly_repeat(cells: Any) -> None:
    assert "'thing' (nearly all of its public values differ)" in str(warned(cells))


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(np.random.default_rng(0).normal(size=N)),
        pa.array([i % 90 for i in range(N)]),
        pa.array([f"town {i % 120}" for i in range(N)]),
        pa.array([f"a note of five words, number {i}" for i in range(N)]),
        pa.array(range(N), pa.date32()),
        pa.FixedSizeListArray.from_arrays(pa.array(np.arange(4.0 * N)), 4),
        pa.array(range(40)),
    ],
    ids=["fractions", "ages", "towns", "free text", "dates", "images", "few rows"],
)
def test_values_that_are_features(cells: Any) -> None:
    assert warned(cells) is None


def test_a_declared_unit_is_enough() -> None:
    assert warned(pa.array(range(N)), unit="person") is None


def test_the_columns_of_a_clinic() -> None:
    """Several visits of a patient, and numbers and categories of the ordinary kind."""
    visits = Clinic().visits(5000)[0].drop_columns([LABEL])
    said = str(id_warning(visits, draft(visits)))
    assert said.startswith(f"Column {UNIT!r} (by its name) may hold ids")
    assert id_warning(visits, draft(visits, unit=UNIT)) is None
    frame = visits.to_pandas()
    assert id_warning(frame, draft(frame)) == said


def test_many_columns_are_told_in_short() -> None:
    frame = pd.DataFrame({f"key{j}": np.arange(N) for j in range(12)})
    said = str(id_warning(frame, draft(frame)))
    assert said.count("nearly all") == 8
    assert "and 4 more may hold ids" in said
