"""Values outside the declared list share one group, to which every cell belongs by itself, however it is stored."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from mapl.data import Column, Schema, conform, read_table
from mapl.data.encoding.encoder import Encoder
from mapl.data.reading.entries import REST, moments
from mapl.data.reading.gaps import gaps_of
from mapl.data.tables.made_up_rows import made_up_rows

CODE = Column("a", "category", ("E11", "7"), rest=True)
SCHEMA = Schema((CODE, Column("b", "number")))
CELLS = ["E11", " 7.0", "E12", "", None, "7", REST, "NA"]
READ = ["E11", "7", REST, None, None, "7", REST, REST]


def storages(path: Path) -> dict[str, Any]:
    b = list(range(len(CELLS)))
    table = pa.table({"a": CELLS, "b": b})
    pa.parquet.write_table(table, path / "t.parquet")
    (path / "t.csv").write_text("a,b\n" + "".join(f"{a or ''},{i}\n" for i, a in enumerate(CELLS)))
    return {
        "arrow": table,
        "large": table.set_column(0, "a", table["a"].cast(pa.large_string())),
        "levels": table.set_column(0, "a", table["a"].dictionary_encode()),
        "chunks": pa.concat_tables([table.slice(0, 3), table.slice(3)]),
        "bytes": table.set_column(0, "a", table["a"].cast(pa.binary())),
        "pandas": table.to_pandas(),
        "pandas levels": pd.DataFrame({"a": pd.Categorical(CELLS), "b": b}),
        "pandas objects": pd.DataFrame({"a": pd.Series(["E11", 7.0, "E12", "", None, 7, REST, "NA"]), "b": b}),
        "polars": pl.DataFrame(table),
        "polars levels": pl.DataFrame(table).with_columns(pl.col("a").cast(pl.Categorical)),
        "parquet": read_table(path / "t.parquet", what="private rows", schema=SCHEMA),
        "csv": read_table(path / "t.csv", what="private rows", schema=SCHEMA),
    }


def test_every_storage_says_the_same(tmp_path: Path) -> None:
    encoder = Encoder.of(SCHEMA)
    wanted = encoder.transform(conform(pa.table({"a": READ, "b": range(8)}), SCHEMA, "rows"))
    assert wanted[:, 1:].tolist() == [[one == value for value in CODE.values] for one in READ]
    for name, rows in storages(tmp_path).items():
        read = conform(rows, SCHEMA, "private rows")
        cells = read["a"].to_pylist() if isinstance(read, pa.Table) else list(read["a"])
        assert [None if one is None or one != one else one for one in cells] == READ, name
        again = conform(read, SCHEMA, "private rows")
        for some in (rows, read, again):
            assert np.array_equal(encoder.transform(some), wanted), name


@pytest.mark.parametrize("odd", ["E99", "", None, b"\xff", 7.5, [1], 2**70, date(2020, 1, 1)], ids=repr)
def test_one_cell_changes_no_other(odd: Any) -> None:
    others = ["E11", "E12", "7"]
    frames = [pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": 1}) for cells in (others, [*others, odd])]
    alone, beside = (conform(frame, SCHEMA, "private rows")["a"].tolist() for frame in frames)
    assert beside[:3] == alone == ["E11", REST, "7"]


def test_levels_are_the_declared_ones_and_the_rest() -> None:
    rows = pa.table({"a": ["x1", "x2", "E11"], "b": [1, 2, 3]})
    assert conform(rows, SCHEMA, "rows")["a"].chunk(0).dictionary.to_pylist() == ["E11", "7", REST]
    assert conform(rows.to_pandas(), SCHEMA, "rows")["a"].cat.categories.tolist() == ["E11", "7", REST]
    assert Encoder.of(SCHEMA).get_feature_names_out().tolist() == ["b", "a=E11", "a=7", f"a={REST}"]


def test_a_schema_without_a_rest_means_what_it_meant() -> None:
    plain = Column.from_dict({"name": "a", "kind": "category", "categories": ["E11", "7"]})
    assert (plain.rest, plain.values) == (False, ("E11", "7"))
    assert conform(pa.table({"a": CELLS}), Schema((plain,)), "rows")["a"].to_pylist() == [
        one if one != REST else None for one in READ
    ]
    dates = pa.array(["31.01.2024", "31/01/2024", "01/31/2024", "2024-01-31"])
    day = Column.from_dict({"name": "a", "kind": "date"})
    read = conform(pa.table({"a": dates}), Schema((day,)), "rows")["a"]
    assert read.is_valid().to_pylist() == [False, False, False, True]


def test_what_the_owner_is_told() -> None:
    gaps = gaps_of(CODE, pa.array(CELLS))
    assert (gaps.empty, gaps.illegible) == (2, 0)
    ages = Column("age", "number", blanks=("unknown",))
    gaps = gaps_of(ages, pa.array(["unknown", "", "soon", "7"]))
    assert (gaps.empty, gaps.illegible) == (2, 1)


def test_made_up_rows_have_the_rest_too() -> None:
    rows = made_up_rows(SCHEMA, 50, np.random.default_rng(0))
    assert set(rows["a"].to_pylist()) == set(CODE.values)


@pytest.mark.parametrize("declared", ["day-first", "month-first", ""])
def test_private_dates_are_read_in_the_declared_order(declared: str) -> None:
    """However many other cells can only be read in another one."""
    schema = Schema((Column("a", "date", order=declared),))
    for others in (["31/12/2024"] * 9, ["12/31/2024"] * 9, ["2024-12-31"] * 9):
        cell = conform(pa.table({"a": ["03/04/2024", *others]}), schema, "private rows")["a"][0].as_py()
        assert (cell and cell.month) == {"day-first": 4, "month-first": 3, "": None}[declared]


WRITTEN = {
    "31/01/2024": (True, False),
    "1/2/2024": (True, True),
    "01-02-2024 13:45": (True, True),
    "01.02.2024T13:45:07.5Z": (True, True),
    "12/31/2024": (False, True),
    "2024-01-31": (True, True),
    "2024-1-1": (False, False),
    "31/01.2024": (False, False),
    "31/01/24": (False, False),
    "031/01/2024": (False, False),
    "30/02/2024": (False, False),
    "00/01/2024": (False, False),
    "1/2/2024x": (False, False),
}


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("beside", ["", "31.12.2024", "12/31/2024", "yesterday"])
def test_dates_are_read_in_the_declared_order_and_alone(text: str, beside: str) -> None:
    for order, legible in zip(("day-first", "month-first"), WRITTEN[text], strict=True):
        alone = moments(pa.array([text]), order)
        assert alone.is_valid().to_pylist() == [legible]
        assert moments(pa.array([beside, text]), order)[1] == alone[0]
    day, month = (moments(pa.array(["1/2/2024"]), order)[0].as_py() for order in ("day-first", "month-first"))
    assert ((day.day, day.month), (month.day, month.month)) == ((1, 2), (2, 1))
