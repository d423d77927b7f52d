"""One content, every storage: what a column is kept as never shows, and one odd cell changes no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapl.data import Column, Schema, conform, digests, for_learner, read_table
from mapl.data.reading.numerals import as_floats, parse_numerals
from mapl.data.tables.rows import column
from mapl.data.units.unit_names import unit_names

NAN = float("nan")
SMALL = [7, 0, None, -12, 100]
LARGE = [2**53 + 1, 2**60 + 2**36 + 1, None, 2**62 - 1, 2**63 - 1]
FRACTIONS = [Decimal("0.1"), Decimal("2.675"), None, Decimal("-1234567.891"), Decimal("0.003")]
MOMENTS = [datetime(2024, 1, 31, 13, 45, 7, 250_000), datetime(1969, 12, 31), None, datetime(2024, 2, 29, 23, 59)]
DAYS = [date(2024, 1, 31), date(1, 1, 1), None, date(9999, 12, 31)]
ZONES = [timezone(timedelta(hours=5, minutes=30)), UTC, UTC, timezone(timedelta(hours=-5))]


def arrow(cells: Any, kind: Any = None) -> pa.Table:
    return pa.table({"a": cells if isinstance(cells, (pa.Array, pa.ChunkedArray)) else pa.array(cells, kind)})


def pandas(cells: Any, kind: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(cells, dtype=kind)})


def polars(cells: Any, kind: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"a": pl.Series(cells, dtype=kind, strict=False)})


def floats(cells: Any) -> list[float]:
    return [NAN if one is None else float(one) for one in cells]


def words(cells: Any) -> list[str | None]:
    return [None if one is None else str(one) for one in cells]


def exact(cells: Any, scale: int) -> list[Decimal | None]:
    with localcontext(prec=100):
        return [None if one is None else Decimal(one).quantize(Decimal(1).scaleb(-scale)) for one in cells]


def encoded(cells: Any) -> pa.RunEndEncodedArray:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(cells) + 1), pa.int32()), cells)


def csv(*spellings: str) -> Callable[[Path], pa.Table]:
    def read(path: Path) -> pa.Table:
        path.write_text("a,b\n" + "".join(f"{one},\n" for one in spellings), encoding="utf-8")
        both = Schema((Column("a", "text"), Column("b", "text")))
        return read_table(path, what="rows", schema=both).select(["a"])

    return read


WHOLE = {
    **{str(kind): arrow(SMALL, kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): arrow(floats(SMALL), kind) for kind in (pa.float16(), pa.float32(), pa.float64())},
    **{
        f"{make(9, scale)}": arrow(exact(SMALL, scale), make(9, scale))
        for make in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)
        for scale in (0, 5)
    },
    **{str(kind): arrow(words(SMALL), kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "bytes": arrow([None if one is None else str(one).encode() for one in SMALL]),
    "dictionary": arrow(pa.array(SMALL).dictionary_encode()),
    "dictionary of text": arrow(pa.array(words(SMALL)).dictionary_encode()),
    "run-end encoded": arrow(encoded(pa.array(SMALL))),
    "chunked": arrow(pa.chunked_array([[7, 0], pa.array([], pa.int64()), [None, -12, 100]])),
    "pandas Int64": pandas(SMALL, "Int64"),
    "pandas float64": pandas(floats(SMALL)),
    "pandas Float32": pandas(floats(SMALL), "Float32"),
    "pandas object": pandas(SMALL, object),
    "pandas mixed": pandas([7, "0.0", None, Decimal(-12), np.float32(100)], object),
    "pandas str": pandas(words(SMALL), "str"),
    "pandas category": pandas(words(SMALL), "category"),
    "pandas category of numbers": pandas(SMALL, "category"),
    "pandas Arrow": pandas(SMALL, pd.ArrowDtype(pa.int16())),
    "pandas sparse": pandas(floats(SMALL), pd.SparseDtype("float64", NAN)),
    "polars Int8": polars(SMALL, pl.Int8),
    "polars Int128": polars(SMALL, pl.Int128),
    "polars Float32": polars(SMALL, pl.Float32),
    "polars Decimal": polars(exact(SMALL, 2), pl.Decimal(9, 2)),
    "polars String": polars(words(SMALL), pl.String),
    "polars Categorical": polars(words(SMALL), pl.Categorical),
    "polars Enum": polars(words(SMALL), pl.Enum(["-12", "0", "100", "7"])),
    "polars Object": polars([7, "0.0", None, -12.0, 100], pl.Object),
    "csv": csv("7", "0", "", "-12", "100"),
    "csv of floats": csv("7.0", "0.0", "NaN", "-12.", "100.00"),
    "csv of texts": csv('" 7"', "0e0", "unknown", "-12.000", '"+100"'),
}
LONG = {
    "int64": arrow(LARGE, pa.int64()),
    "uint64": arrow(LARGE, pa.uint64()),
    "decimal": arrow(exact(LARGE, 0), pa.decimal128(38, 0)),
    "decimal with a scale": arrow(exact(LARGE, 4), pa.decimal256(60, 4)),
    "float64": arrow(floats(LARGE)),
    "text": arrow(words(LARGE)),
    "pandas object": pandas(LARGE, object),
    "pandas UInt64": pandas(LARGE, "UInt64"),
    "pandas float64": pandas(floats(LARGE)),
    "polars": polars(LARGE, pl.UInt64),
    "csv": csv(*(str(one or "") for one in LARGE)),
    "csv of floats": csv(*("" if one is None else repr(float(one)) for one in LARGE)),
}
PARTS = {
    **{f"decimal of scale {n}": arrow(exact(FRACTIONS, n), pa.decimal128(38, n)) for n in (3, 4, 9, 17, 25)},
    "short decimal": arrow(FRACTIONS, pa.decimal64(12, 3)),
    "long decimal": arrow(exact(FRACTIONS, 40), pa.decimal256(70, 40)),
    "float64": arrow(floats(FRACTIONS)),
    "text": arrow(words(FRACTIONS)),
    "pandas object": pandas(FRACTIONS, object),
    "polars": polars(exact(FRACTIONS, 9), pl.Decimal(30, 9)),
    "csv": csv("0.1", "2.675", "", "-1234567.891", "0.003"),
    "csv of more digits": csv("0.10000", "2.67500", "", "-1.234567891e6", "3e-3"),
}
TIMES = {
    "us": arrow(MOMENTS, pa.timestamp("us")),
    "ns": arrow(MOMENTS, pa.timestamp("ns")),
    "ms": arrow(MOMENTS, pa.timestamp("ms")),
    "UTC": arrow([one and one.replace(tzinfo=UTC) for one in MOMENTS], pa.timestamp("us", "UTC")),
    "another zone": arrow(
        [one and one.replace(tzinfo=UTC) for one in MOMENTS], pa.timestamp("ns", "America/New_York")
    ),
    "text": arrow(["2024-01-31 13:45:07.25", "1969-12-31", "no day", "2024-02-29T23:59"]),
    "text with zones": arrow(
        ["2024-01-31T19:15:07.250+05:30", "1969-12-31 00:00:00Z", "2023-02-29", "2024-02-29 18:59-05"]
    ),
    "text with nanoseconds": arrow(["2024-01-31 13:45:07.250000999", "1969-12-31", "", "2024-02-29 23:59:00.0"]),
    "pandas": pandas(MOMENTS, "datetime64[ns]"),
    "pandas object": pandas([MOMENTS[0], MOMENTS[1].date(), pd.NaT, MOMENTS[3].replace(tzinfo=UTC)], object),
    "pandas zones": pandas(
        [one and one.replace(tzinfo=UTC).astimezone(zone) for one, zone in zip(MOMENTS, ZONES, strict=True)], object
    ),
    "polars": polars(MOMENTS, pl.Datetime("ms")),
    "csv": csv("2024-01-31 13:45:07.250000", "1969-12-31", "", "2024-02-29 23:59:00"),
}
DATES = {
    "date32": arrow(DAYS, pa.date32()),
    "date64": arrow(DAYS, pa.date64()),
    "seconds": arrow([one and datetime(one.year, one.month, one.day) for one in DAYS], pa.timestamp("s")),
    "beyond the years": arrow(pa.array([19753, -719_162, 2**31 - 1, 2_932_896], pa.int32()).cast(pa.date32())),
    "pandas object": pandas(DAYS, object),
    "polars": polars(DAYS, pl.Date),
    "text": arrow(["2024-01-31", "0001-01-01", "0000-01-01", "9999-12-31"]),
}
CONTENTS = {
    "number": {"whole": WHOLE, "long": LONG, "fractions": PARTS},
    "date": {"moments": TIMES, "days": DATES},
    "category": {"whole": {name: rows for name, rows in WHOLE.items() if name != "csv of texts"}},
}
CASES = [
    pytest.param(kind, content, name, id=f"{kind}: {content}, {name}")
    for kind, contents in CONTENTS.items()
    for content, storages in contents.items()
    for name in storages
]


def declared(kind: str) -> Schema:
    return Schema((Column("a", kind, ("-12", "0", "100", "7") if kind == "category" else ()),))


def stored(kind: str, content: str, name: str, path: Path) -> Any:
    rows = CONTENTS[kind][content][name]
    return rows(path / "a.csv") if callable(rows) else rows


def canonical(rows: Any, schema: Schema) -> list[Any]:
    """Return the cells of the only column as plain values, floats by their bits, after checking their type."""
    read = conform(rows, schema, "rows")
    cells = column(read, "a")
    kind = schema.columns[0].kind
    if isinstance(read, pa.Table):
        wanted = {"number": pa.float64(), "date": pa.timestamp("us")}.get(
            kind, pa.dictionary(pa.int8(), pa.string())
        )
        assert cells.type == wanted
        assert not (kind == "number" and pc.any(pc.is_nan(cells)).as_py())
    if kind == "number":
        return [one.hex() if one == one else None for one in as_floats(cells.cast(pa.float64())).tolist()]
    plain = cells.cast(pa.timestamp("us")) if kind == "date" else cells
    return list(plain.to_pylist())


def identities(rows: Any, schema: Schema) -> list[bytes]:
    return list(chain.from_iterable(digests(conform(rows, schema, "rows"), None)))


WANTED = {
    "whole": [None if one is None else float(one).hex() for one in SMALL],
    "long": [None if one is None else float(one).hex() for one in LARGE],
    "fractions": [None if one is None else float(str(one)).hex() for one in FRACTIONS],
    "moments": MOMENTS,
    "days": [one and datetime(one.year, one.month, one.day) for one in DAYS],
}


@pytest.mark.parametrize(("kind", "content", "name"), CASES)
def test_one_content_is_read_alike_from_every_storage(tmp_path: Path, kind: str, content: str, name: str) -> None:
    schema, rows = declared(kind), stored(kind, content, name, tmp_path)
    wanted = words(SMALL) if kind == "category" else WANTED[content]
    assert canonical(rows, schema) == wanted
    first = next(iter(CONTENTS[kind][content].values()))
    assert identities(rows, schema) == identities(first, schema)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize(
    ("kind", "content", "name"),
    [case for case in CASES if isinstance(CONTENTS[case.values[0]][case.values[1]][case.values[2]], pa.Table)],
)
def test_files_say_what_their_tables_say(tmp_path: Path, suffix: str, kind: str, content: str, name: str) -> None:
    rows, path = stored(kind, content, name, tmp_path), tmp_path / f"a{suffix}"
    if name == "run-end encoded":
        pytest.skip("these files do not hold such columns")
    if suffix == ".parquet":
        try:
            pa.parquet.write_table(rows, path)
        except (pa.ArrowException, NotImplementedError):
            pytest.skip("Parquet does not hold this type")
    else:
        pa.feather.write_feather(rows, path)
    read = read_table(path, what="private rows", schema=declared(kind))
    assert read.column(0).equals(conform(rows, declared(kind), "rows").column(0))


ODD = [None, "", "abc", "1e999", "0.1234567890123456789", 2**70, -0.5, True, Decimal("0.00001"), b"\xff", [1], {}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("kind", ["number", "category", "text", "date"])
@pytest.mark.parametrize("at", [0, 2])
def test_one_odd_cell_changes_no_other_in_a_frame_of_objects(odd: Any, kind: str, at: int) -> None:
    others = ["2024-01-31", "7"] if kind in ("text", "date") else [2**60 + 2**36 + 1, 7]
    schema = declared(kind)
    before, after = pandas(others, object), pandas([*others[:at], odd, *others[at:]], object)
    kept = [i for i in range(3) if i != at]
    read = canonical(after, schema) if kind != "text" else conform(after, schema, "rows")["a"].tolist()
    wanted = canonical(before, schema) if kind != "text" else conform(before, schema, "rows")["a"].tolist()
    assert [read[i] for i in kept] == wanted
    assert [identities(after, schema)[i] for i in kept] == identities(before, schema)


@pytest.mark.parametrize(
    ("without", "added"),
    [
        (arrow(LARGE[:2], pa.int64()), arrow(floats([*LARGE[:2], None]))),
        (arrow(exact(FRACTIONS[:2], 3)), arrow(exact([*FRACTIONS[:2], 0], 20), pa.decimal128(38, 20))),
        (arrow([0.1, 7], pa.float32()), arrow([float(np.float32(0.1)), 7, 1e300], pa.float64())),
        (arrow([7, 8], pa.uint8()), arrow(["7", "8", "nine"])),
        (arrow([None, None], pa.null()), arrow([None, None, 3], pa.int8())),
        (arrow([True, False]), arrow(["true", "false", "5"])),
    ],
    ids=["an empty cell", "a digit", "a large number", "a word", "the first number", "no truth value"],
)
def test_one_persons_cell_changes_the_storage_and_no_other_row(without: pa.Table, added: pa.Table) -> None:
    schema = declared("number")
    assert canonical(added, schema)[:2] == canonical(without, schema)
    assert identities(added, schema)[:2] == identities(without, schema)
    before, after = (for_learner(conform(one, schema, "rows")) for one in (without, added))
    assert before["a"].dtype == after["a"].dtype == np.float64


@pytest.mark.parametrize("odd", [None, [], [1], [1, None], [1, NAN], [1, 2, 3], "image", 5, [1, "x"]], ids=repr)
def test_an_image_of_another_size_is_missing_and_no_other_is(odd: Any) -> None:
    schema = Schema((Column("a", "image", width=2),))
    frame = pd.DataFrame({"a": pd.Series([[1, 2], odd, np.array([3.5, 4])], dtype=object)})
    pixels = for_learner(conform(frame, schema, "rows"))["a"].tolist()
    assert [None if one is None else list(one) for one in pixels] == [[1, 2], None, [3.5, 4]]
    if odd is None or (isinstance(odd, list) and "x" not in odd):
        for kind in (pa.list_(pa.float64()), pa.large_list(pa.float32())):
            table = pa.table({"a": pa.array([[1, 2], odd, [3.5, 4]], kind)})
            assert conform(table, schema, "rows")["a"].to_pylist() == [[1, 2], None, [3.5, 4]]


def test_images_of_every_storage_are_alike() -> None:
    schema = Schema((Column("a", "image", width=3),))
    content = [[0, 1, 255], None, [9, 8, 7]]
    kinds = [make(value) for make in (pa.list_, pa.large_list) for value in (pa.uint8(), pa.int64(), pa.float16())]
    kinds += [pa.list_(value, 3) for value in (pa.int32(), pa.float32(), pa.float64())]
    wanted = conform(arrow(content, kinds[0]), schema, "rows")
    assert wanted["a"].type == pa.list_(pa.float32(), 3)
    for kind in kinds:
        table = arrow(content, kind)
        assert conform(table, schema, "rows").equals(wanted)
        assert identities(table.to_pandas(), schema) == identities(wanted, schema)
        assert identities(pl.DataFrame(table), schema) == identities(wanted, schema)


@given(st.lists(st.text("0123456789.eE+-infNaNtrue x", max_size=12) | st.floats().map(repr), min_size=1))
def test_numbers_written_are_read_as_python_reads_them_and_alone(texts: list[str]) -> None:
    """One illegible text sends the whole column another way through the code, and must not show."""

    def python(text: str) -> float:
        try:
            return {"true": 1.0, "false": 0.0}.get(text.lower(), NAN) if text[:1].isalpha() else float(text)
        except ValueError:
            return NAN

    trimmed = [text.strip() for text in texts]
    read = as_floats(parse_numerals(pa.array(trimmed, pa.large_string())))
    beside = as_floats(parse_numerals(pa.array([*trimmed, "no number"], pa.large_string())))[:-1]
    assert np.array_equal(read, beside, equal_nan=True)
    plain = [i for i, text in enumerate(trimmed) if "_" not in text and "inf" not in text.lower()]
    assert np.array_equal(read[plain], [python(trimmed[i]) for i in plain], equal_nan=True)


UNITS = {
    "7": [
        *(arrow([7], kind) for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(5, 2))),
        *(arrow([one]) for one in ("7", "7.0", "7.00", "7.", " 7 ", b"7", b"7.0")),
        pandas([7.0]),
        pandas([Decimal("7.00")], object),
    ],
    "007": [arrow(["007"]), arrow([b" 007"]), pandas(["007"], object)],
    str(2**63 + 1): [arrow([2**63 + 1], pa.uint64()), arrow([str(2**63 + 1)]), pandas([2**63 + 1], object)],
    str(2**53 + 1): [arrow([2**53 + 1]), arrow([f"{2**53 + 1}.0"]), arrow([Decimal(2**53 + 1)])],
    str(10**16): [arrow([1e16]), arrow(["1e+16"]), arrow([10**16])],
    "1.10": [arrow(["1.10"])],
    "12e5": [arrow(["12e5"])],
    "0": [arrow([0]), arrow([-0.0]), arrow(["-0.0"])],
}


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_has_one_name_however_it_is_stored_or_spelled(name: str) -> None:
    for rows in UNITS[name]:
        assert unit_names(column(rows, "a")).to_pylist() == [name.encode()]


def test_ids_that_are_no_text_name_different_units() -> None:
    ids = [b"\xff\x01", b"\xff\x02", b"7.0", None, b" "]
    assert unit_names(pa.array(ids)).to_pylist() == [b"\xff\x01", b"\xff\x02", b"7", None, None]
