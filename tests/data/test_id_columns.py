"""Columns of ids are found by their names and by public values that hardly ever repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mapl.data import draft_schema
from mapl.data.synthetic import LABEL, UNIT, Clinic
from mapl.data.units.id_columns import ask_about, id_warning, list_suspects
from mapl.errors import InvalidParameter

N = 200


def warned(cells: Any, name: str = "thing", *, unit: str | None = None) -> str | None:
    """Judge one column of a public table as it was read, from every container."""
    table = pa.table({name: cells, "other": pa.array(["a", "b"] * len(cells))[: len(cells)]})
    schema = draft_schema(table, unit=unit)
    said = id_warning(table, schema)
    if not pa.types.is_fixed_size_list(cells.type):
        assert id_warning(pl.DataFrame(table), schema) == said
    return said


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "PatientID", "patientId", "user uuid", "SSN", "mrn"])
def test_names(name: str) -> None:
    said = warned(pa.array([i % 5 for i in range(N)]), name)
    assert said is not None
    assert f"Column {name!r} (by its name) may hold ids" in said
    assert "name it with unit" in said
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


VISITS = np.random.default_rng(1).permutation([i for i in range(400) for _ in range(1 + i % 4)])
"""Whose each of 1000 visits is."""


@pytest.mark.parametrize(
    "name", ["patient", "Person", "customer_no", "PatientNr", "account_number", "client key", "policyCode"]
)
@pytest.mark.parametrize(
    "cells",
    [pa.array(VISITS), pa.array(7919 * VISITS), pa.array([f"{i:03x}" for i in VISITS])],
    ids=["numbered", "any numbers", "codes"],
)
def test_people_with_several_rows_by_their_name(name: str, cells: Any) -> None:
    assert f"Column {name!r} (by its name and its many public values)" in str(warned(cells, name))


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(VISITS),
        pa.array([f"P{i:04d}" for i in VISITS]),
        pa.array([f"{7919 * i:08x}" for i in VISITS]),
        pa.array(10_000_019 + 7919 * VISITS),
    ],
    ids=["numbered through", "codes", "hashes", "long numbers"],
)
def test_people_with_several_rows_by_their_values(cells: Any) -> None:
    assert "'thing' (its many public values repeat a few times each" in str(warned(cells))


RNG = np.random.default_rng(2)
CODES = [f"{letter}{i:02d}" for letter in "EIJK" for i in range(60)]
ZIPF = 1 / np.arange(1, 241)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", pa.array(RNG.integers(18, 95, 300))),
        ("born", pa.array(RNG.integers(1930, 2020, 300))),
        ("zip", pa.array(RNG.integers(10_115, 14_199, 2000))),
        ("town", pa.array(RNG.integers(10_115, 14_199, 2000))),
        ("postal_code", pa.array([f"D-{one}" for one in RNG.integers(10_115, 10_999, 2000)])),
        ("income", pa.array(RNG.lognormal(10, 1, 2000).astype(int) // 100 * 100)),
        ("weight", pa.array(RNG.lognormal(12, 0.5, 32_000).astype(int) // 3)),
        ("day of year", pa.array(RNG.integers(1, 367, 1000))),
        ("when", pa.array(20_200_000 + 100 * RNG.integers(1, 13, 900) + RNG.integers(1, 29, 900))),
        ("diagnosis", pa.array(RNG.choice(CODES, 800, p=ZIPF / ZIPF.sum()).tolist())),
        ("member", pa.array(["yes", "no"] * 300)),
        ("family", pa.array(RNG.integers(1, 9, 600))),
        ("customer_age", pa.array(RNG.integers(18, 95, 600))),
        ("score", pa.array(RNG.normal(500, 100, 2000).astype(int))),
    ],
)
def test_what_repeats_and_is_no_id(name: str, cells: Any) -> None:
    assert warned(cells, name) is None


def test_a_declared_unit_is_enough() -> None:
    assert warned(pa.array(range(N)), unit="person") is None


def test_the_columns_of_a_clinic() -> None:
    """Several visits of a patient, and numbers and categories of the ordinary kind."""
    visits = Clinic().visits(5000)[0].drop_columns([LABEL])
    said = str(id_warning(visits, draft_schema(visits)))
    assert said.startswith(f"Column {UNIT!r} (by its name) may hold ids")
    assert id_warning(visits, draft_schema(visits, unit=UNIT)) is None
    frame = visits.to_pandas()
    assert id_warning(frame, draft_schema(frame)) == said


def test_many_columns_are_told_in_short() -> None:
    frame = pd.DataFrame({f"key{j}": np.arange(N) for j in range(12)})
    said = str(id_warning(frame, draft_schema(frame)))
    assert said.count("nearly all") == 8
    assert "and 4 more may hold ids" in said


def test_what_is_not_declared_is_asked() -> None:
    table = pa.table({"patient_id": range(5)})
    with pytest.raises(
        InvalidParameter, match=r"may hold ids.*Nothing was spent.*unit=.COLUMN.*unit=.none.*out with drop"
    ):
        ask_about(list_suspects(table, draft_schema(table)), no_unit=False)
    said = ask_about(list_suspects(table, draft_schema(table)), no_unit=True)
    assert said == id_warning(table, draft_schema(table)) is not None
    assert list_suspects(table, draft_schema(table, unit="person")) is None
    plain = pa.table({"age": range(5)})
    assert list_suspects(plain, draft_schema(plain)) is None
    assert ask_about(None, no_unit=False) is None
    assert list_suspects(np.eye(60), draft_schema(np.eye(60))) is None
