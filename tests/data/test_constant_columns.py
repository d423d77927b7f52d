"""Columns that have one value in all public rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mapl.data import conform, draft_schema
from mapl.data.tables.constant_columns import constant_warning


def test_constant_columns_are_named() -> None:
    table = pa.table(
        {
            "year": [2024] * 60,
            "place": ["north"] * 60,
            "age": np.arange(60.0),
            "gap": [1.0, None] * 30,  # somebody lacks it, which is a difference
            "pixels": pa.array([[0.0] * 4] * 60, pa.list_(pa.float32(), 4)),
        }
    )
    schema = draft_schema(table)
    said = constant_warning(conform(table, schema, "public rows"), schema)
    assert said is not None
    assert "the same value in 'year', 'place', so that" in said
    fine = table.select(["age", "gap"])
    assert constant_warning(fine, draft_schema(fine)) is None


def test_many_of_them_are_counted() -> None:
    matrix = np.ones((5, 12))
    said = constant_warning(matrix, draft_schema(matrix))
    assert said is not None
    assert "'x7' and 4 more" in said
