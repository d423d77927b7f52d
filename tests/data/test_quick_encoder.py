"""The quick encoder returns what the encoder returns, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.quick_encoder import QuickEncoder
from mapl.data.tables.column import Column
from mapl.data.tables.schema import Schema

COLUMNS = (
    Column("age", "number", centre=40.0, spread=12.5, cuts=(20.0, 30.5, 60.0), missing=True),
    Column("sex", "category", ("f", "m")),
    Column("since", "date", centre=19000.0, spread=300.0, cuts=(18000.0,)),
    Column("income", "number", centre=-1e5, spread=1e-3),
    Column("region", "category", ("n", "e", "s"), missing=True, rest=True),
    Column("weight", "number", cuts=(0.0,), missing=True),
)

cells = st.tuples(
    st.one_of(st.just(np.nan), st.floats(-1e300, 1e300), st.sampled_from([20.0, 30.5, 60.0])),
    st.integers(-1, 1),
    st.one_of(st.none(), st.integers(-(10**15), 2 * 10**15)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-1, 3),
    st.one_of(st.just(np.nan), st.floats(-2, 2)),
)


@given(st.lists(cells, min_size=1, max_size=5), st.booleans())
def test_rows_are_encoded_alike(rows: list[Any], bins: bool) -> None:
    encoder = Encoder.of(Schema(COLUMNS), bins=bins)
    age, sex, since, income, region, weight = zip(*rows, strict=True)
    moments = pa.array(since, pa.timestamp("us"))

    def named(places: Any, column: Column) -> Any:
        return pa.array([None if place < 0 else column.values[place] for place in places], pa.string())

    table = pa.table(
        {
            "age": pa.array(age, pa.float64()),
            "sex": named(sex, COLUMNS[1]),
            "since": moments,
            "income": pa.array(income, pa.float64()),
            "region": named(region, COLUMNS[4]),
            "weight": pa.array(weight, pa.float64()),
        }
    )
    days = [np.nan if one is None else float(one) / 86_400_000_000 for one in since]
    values = np.array([age, days, income, weight], dtype=np.float64).T
    places = np.array([sex, region], dtype=np.int32).T
    assert QuickEncoder.fits(encoder)
    quick = QuickEncoder(encoder).encode(values, places)
    expected = encoder.transform(table)
    assert quick.dtype == expected.dtype == np.float32
    assert np.array_equal(quick, expected)


@pytest.mark.parametrize("kind", ["text", "image"])
def test_text_and_images_are_left_to_the_encoder(kind: str) -> None:
    assert not QuickEncoder.fits(Encoder.of(Schema((Column("x", kind, width=4 if kind == "image" else 1),))))


def test_an_encoder_that_learned_from_public_rows_is_left_alone() -> None:
    from mapl.data.encoding.public_encoder import PublicEncoder

    assert not QuickEncoder.fits(PublicEncoder([COLUMNS[1].to_dict()], {}, {}))
