"""The one list of neighbours: pairs of private tables that differ in one person, whose content is like nobody's.

A base table and its neighbour are bytes of a file, or rows in memory. `NEIGHBOURS` is made of three lists below it:
strange cells as a CSV file spells them, other storage types as Parquet and Arrow have them, and containers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy import sparse

Cells = dict[str, Any]
Private = Any
"""A file's bytes, or (rows, labels, groups) in memory."""

DATES = [f"2020-0{1 + i % 9}-1{i % 7}" for i in range(63)]


def people(n: int, first: int = 1) -> list[Cells]:
    """Return the records of n ordinary people, two of each."""
    return [
        {
            "person": i // 2 + first,
            "age": 20 + (7 * i + first) % 60,
            "dose": Decimal((3 * i + first) % 17).scaleb(-1),
            "stamp": 1_600_000_000_000_000_001 + 1_000_000_007 * i,
            "colour": ("red", "blue", "green")[i % 3],
            "smoker": ("yes", "no")[i % 2],
            "seen": DATES[i % 63],
            "note": f"seen {('well', 'ill', 'tired')[i % 3]} for {i % 11} days",
            "y": ("no", "yes")[(7 * i + first) % 60 > 30],
        }
        for i in range(2 * n)
    ]


N_PUBLIC = 5
"""So few public people keep students small, which are written and read in every run."""

CROWD = people(20)
SOMEBODY = CROWD[14] | {"person": 99}
CHANGED = 14
"""Whose record is changed where the number of records is public."""

# --- Strange cells, as they are spelled in a CSV file ---------------------------------------------

RTL, EMOJI, COMBINING, NUL = "שלום\u202e", "👩‍👩‍👧", "e" + "\u0301" * 40, "a\0b"

STRANGE: dict[str, list[Cells]] = {
    "empty cells": [dict.fromkeys(("age", "dose", "stamp", "colour", "smoker", "seen", "note"), "")],
    "empty label": [{"y": ""}],
    "label outside the classes": [{"y": "maybe"}, {"y": "0"}],
    "empty unit": [{"person": ""}],
    "not finite": [{"age": "nan", "dose": "inf", "stamp": "-Infinity"}, {"age": "-inf", "dose": "NaN"}],
    "huge numbers": [{"age": "1e308", "dose": "-1e308", "stamp": str(2**63)}, {"age": "1e999", "stamp": "9" * 400}],
    "one more digit": [{"dose": "0.1234567890123456789012345678901234567890", "stamp": "1600000000000000001.5"}],
    "illegible numbers": [
        {"age": "abc", "dose": "1,5", "stamp": "0x1F"},
        {"age": "１２", "dose": "1_0", "stamp": "--1"},
    ],
    "other spellings": [
        {"person": " 99 ", "age": " 41 ", "smoker": "YES", "y": " yes "},
        {"person": "99.0", "age": "41.0", "smoker": "TRUE", "y": "YES"},
        {"person": "+99", "age": "4.1e1", "smoker": "y", "colour": " Red"},
    ],
    "new category": [{"colour": "ultraviolet", "smoker": "cigars"}, {"colour": "(rest)", "smoker": "unknown"}],
    "other dates": [
        {"seen": "2020-01-05T03:00:00+05:00"},
        {"seen": "2020-01-05 03:00:00.123456789Z"},
        {"seen": "05/01/2020"},
        {"seen": "31.1.2020 10:00Z"},
        {"seen": "12-31-2020"},
        {"seen": "1577836800"},
        {"seen": "99999-01-01"},
    ],
    "illegible date": [{"seen": "yesterday"}, {"seen": "2020-02-30"}],
    "odd text": [
        {"note": text, "colour": text} for text in (RTL, EMOJI, COMBINING, NUL, '"\n",', "\ufeff\u2028", "\ud800")
    ],
    "a million characters": [{"note": "x" * 1_000_000}],
    "invalid UTF-8": [{"note": b"\xff\xfe\x80"}, {"colour": b"\xe9t\xe9"}, {"y": b"\xff"}, {"person": b"\xff99"}],
    "ten thousand records": [{"age": str(i)} for i in range(10_000)],
}
EVERYTHING = [one for name, several in STRANGE.items() for one in several[:20] if len(one.get("note", "")) < 99]

ILLEGIBLE = {
    "age": "abc",
    "dose": "inf",
    "stamp": "1e308",
    "colour": "ultraviolet",
    "smoker": "TRUE",
    "seen": "yesterday",
    "note": NUL + RTL,
}
REPLACED = {"illegible": ILLEGIBLE, "empty": STRANGE["empty cells"][0]}
RELABELLED: dict[str, Cells] = {
    "label outside": {"y": "maybe"},
    "label empty": {"y": ""},
    "label spelled otherwise": {"y": " YES "},
    "label in no encoding": {"y": b"\xff"},
    "label by its place": {"y": "0"},
    "label of two million letters": {"y": "x" * 2_000_000},
}


def csv(records: Sequence[Cells]) -> bytes:
    """Spell records as a CSV file."""
    names = list(CROWD[0])
    return b"\n".join(
        [",".join(names).encode(), *(b",".join(_cell(one[n]) for n in names) for one in records), b""]
    )


def _cell(cell: Any) -> bytes:
    spelled = cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")
    plain = not any(mark in spelled for mark in b'",\n\r') and spelled.strip() == spelled
    return spelled if plain else b'"' + spelled.replace(b'"', b'""') + b'"'


def json_lines(records: Sequence[Cells], *more: bytes) -> bytes:
    """Spell records as JSON lines, with some lines as they are before them."""
    return b"\n".join([*more, *(b"{%s}" % b", ".join(map(_member, one.items())) for one in records), b""])


def _member(member: tuple[str, Any]) -> bytes:
    name, cell = member
    spelled = b'"%s"' % cell if isinstance(cell, bytes) else json.dumps(cell, default=float).encode()
    return json.dumps(name).encode() + b": " + spelled


OTHERWISE: list[Cells] = [
    {"age": 41, "dose": 0.5, "smoker": True, "person": 99},
    {"age": [41], "dose": {"of": 1}, "colour": ["red"], "note": {"y": "yes"}, "seen": [], "stamp": {}},
    {"age": None, "colour": False, "note": -0.0, "seen": 1577836800, "y": ["yes"]},
    {"y": 1, "person": None},
    {"more": [[]], "": 7, "AGE": 3},
]
"""What JSON can say and CSV cannot."""
RELABELLED_OTHERWISE: dict[str, Cells] = {
    "label in a list": {"y": ["yes"]},
    "label in an object": {"y": {"of": "yes"}},
    "label of two lines": {"y": "yes\rno\r\n"},
    "label of three million letters": {"y": "x" * 3_000_000},
}
ODD_LINES = (
    b"\xff\xfe\x00",
    b"PAR1",
    b"",
    b"null",
    b"[1, 2]",
    b'{"person": 99',
    b"[" * 50_000,
    b'{"y": "no"} {}',
    b"{}",
)


def strangers(records: Sequence[Cells]) -> list[Cells]:
    """Return records of one person more."""
    return [SOMEBODY | one for one in records]


def changed(cells: Cells) -> list[Cells]:
    """Return the crowd with other cells in one record."""
    return [*CROWD[:CHANGED], CROWD[CHANGED] | cells, *CROWD[CHANGED + 1 :]]


# --- Storage types --------------------------------------------------------------------------------

STORED: dict[str, pa.DataType] = {
    "person": pa.int64(),
    "age": pa.int64(),
    "dose": pa.float64(),
    "stamp": pa.int64(),
    "colour": pa.dictionary(pa.int8(), pa.string()),
    "smoker": pa.string(),
    "seen": pa.date32(),
    "note": pa.string(),
    "y": pa.string(),
}
"""How the base table stores its columns."""

JAPAN = timezone(timedelta(hours=9))
UTC, TOKYO = pa.timestamp("ns", "UTC"), pa.timestamp("us", "Asia/Tokyo")
GAPS = dict.fromkeys(("age", "dose", "stamp", "colour", "smoker", "seen", "note"))

RETYPED: dict[str, tuple[dict[str, pa.DataType], Cells]] = {
    "the same types": ({}, {"age": 2**63 - 1, "dose": float("inf"), "colour": "ultraviolet", "note": EMOJI + NUL}),
    "gaps": ({}, GAPS),
    "gaps in label and unit": ({}, {"y": None, "person": None}),
    "whole numbers as floats": (
        dict.fromkeys(("age", "stamp", "person"), pa.float64()),
        {"age": None, "stamp": np.nan},
    ),
    "decimals": (
        {"dose": pa.decimal128(30, 20), "age": pa.decimal128(38, 2), "person": pa.decimal128(20, 1)},
        {"dose": Decimal("0.12345678901234567891")},
    ),
    "small numbers": (
        {"age": pa.uint8(), "dose": pa.float32(), "person": pa.int16()},
        {"age": None, "dose": np.inf},
    ),
    "text": (
        dict.fromkeys(STORED, pa.string()),
        {"age": "abc", "dose": " 7 ", "stamp": "1e400", "seen": "soon", "person": "99.0", "y": "Maybe"},
    ),
    "large text": (dict.fromkeys(("colour", "smoker", "note", "y"), pa.large_string()), {"colour": "ultraviolet"}),
    "levels": (
        dict.fromkeys(("smoker", "note", "y", "seen"), pa.dictionary(pa.int32(), pa.string())),
        {"smoker": "cigars", "y": "maybe", "seen": "soon"},
    ),
    "bytes": (
        dict.fromkeys(("colour", "note", "y"), pa.binary()),
        {"colour": b"\xff", "note": b"\xff\x00", "y": b"\xff"},
    ),
    "moments": ({"seen": UTC}, {"seen": "2020-01-05T03:00:00.000000001"}),
    "moments elsewhere": ({"seen": TOKYO}, {"seen": "1677-01-05T03:00:00"}),
    "seconds": ({"seen": pa.timestamp("s")}, {"seen": None}),
    "truth values": ({"smoker": pa.bool_()}, {"smoker": None}),
    "ids in lists": ({"person": pa.list_(pa.int64())}, {}),
    "nothing in a column": ({"note": pa.null(), "colour": pa.null()}, {}),
}


def stored(records: Sequence[Cells], types: Mapping[str, pa.DataType]) -> pa.Table:
    """Lay records out in columns of given types."""
    return pa.table({name: _column([one[name] for one in records], kind) for name, kind in types.items()})


def _column(cells: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_null(kind):
        return pa.nulls(len(cells))
    if pa.types.is_list(kind):
        return pa.array([None if cell is None else [cell] for cell in cells], kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if cell is None else cell == "yes" for cell in cells], kind)
    if pa.types.is_dictionary(kind):
        return _column(cells, kind.value_type).dictionary_encode()
    if pa.types.is_binary(kind):
        return pa.array([one if isinstance(one, bytes | None) else str(one).encode() for one in cells], kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array([None if cell is None else str(cell) for cell in cells], kind)
    if pa.types.is_temporal(kind):
        plain = pa.timestamp(getattr(kind, "unit", "s"))
        return pa.array(cells, pa.string()).cast(plain).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if cell is None else Decimal(cell) for cell in cells], kind)
    whole = pa.types.is_integer(kind)
    return pa.array([cell if cell is None or whole else float(cell) for cell in cells], kind, from_pandas=False)


def with_somebody(types: Mapping[str, pa.DataType], cells: Cells) -> pa.Table:
    """Return the crowd and a person more, in the types that this takes."""
    return stored([*CROWD, SOMEBODY | cells], {**STORED, **types})


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pa.parquet.write_table(table, file)
    return file.getvalue()


def arrow(table: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as sink:
        sink.write_table(table)
    return file.getvalue()


FLAT, SQUARE = pa.list_(pa.uint8()), pa.list_(pa.uint8(), 16)

IMAGES: dict[str, tuple[pa.DataType, Any]] = {
    "a smaller image": (FLAT, [1] * 9),
    "no image": (SQUARE, None),
    "an empty image": (FLAT, []),
    "an image of fractions": (pa.list_(pa.float64()), [float("nan"), float("inf"), 1e308, None] * 4),
    "an image of words": (pa.list_(pa.string()), ["dark"] * 16),
}


def pictures(n: int, kind: pa.DataType = SQUARE, *more: Any) -> pa.Table:
    """Return small images, and those of somebody else."""
    pixels = [[(i * j) % 251 for j in range(16)] for i in range(2 * n)]
    convert = str if kind.value_type == pa.string() else float if kind.value_type == pa.float64() else int
    cells = [[convert(one) for one in image] for image in pixels]
    extra = len(more)
    return pa.table(
        {
            "person": [*(i // 2 for i in range(2 * n)), *[99] * extra],
            "picture": pa.array([*cells, *more], kind),
            "y": [*(("no", "yes")[i % 2] for i in range(2 * n)), *["yes"] * extra],
        }
    )


# --- Votes ----------------------------------------------------------------------------------------

VOTERS = 60


def votes(last: Sequence[str]) -> list[list[str]]:
    """Return one vote of every teacher on some questions; those of the last teacher are given."""
    return [[("no", "yes")[(i * k) % 7 < 4] for k in range(VOTERS - 1)] + [last[i]] for i in range(20)]


ORDINARY = [("no", "yes")[i % 2] for i in range(20)]
TURNED: dict[str, list[str]] = {
    "other votes": ORDINARY[::-1],
    "votes for nobody": ["maybe"] * 10 + [""] * 10,
    "votes spelled otherwise": [" YES ", "No"] * 10,
}


def single(listed: list[list[str]]) -> bytes:
    """Spell single votes as a CSV file, one column per teacher."""
    lines = [[f"teacher {k}" for k in range(VOTERS)], *listed]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def counted(listed: list[list[str]], kind: str = "int64") -> bytes:
    """Count votes and write the counts as NumPy does."""
    file = io.BytesIO()
    np.save(file, np.array([[line.count("no"), line.count("yes")] for line in listed], dtype=kind))
    return file.getvalue()


# --- Containers in memory -------------------------------------------------------------------------

FORMS = ("pandas", "nullable", "polars", "arrow", "numpy", "sparse")
NUMBERS = ("age", "dose")
MIXED = ("age", "dose", "colour", "note")
DATED = ("age", "dose", "seen")
FORMS_OF = {NUMBERS: FORMS, MIXED: FORMS, DATED: FORMS[:4]}
"""Which columns stand in which containers; a matrix holds no dates."""


def held(form: str, records: Sequence[Cells], columns: Sequence[str]) -> tuple[Any, Any, Any]:
    """Return rows, labels and groups of records in a container; what a column's type becomes is up to that."""
    cells = {name: [_plain(one[name], name) for one in records] for name in columns}
    labels, groups = [one["y"] for one in records], [one["person"] for one in records]
    if form == "pandas":
        import pandas as pd

        return pd.DataFrame(cells), pd.Series(labels, dtype=object), pd.Series(groups)
    if form == "nullable":
        import pandas as pd

        return pd.DataFrame(cells).convert_dtypes(), pd.Series(labels).convert_dtypes(), pd.Series(groups)
    if form == "polars":
        import polars as pl

        frame = {name: pl.Series(name, _alike(column), strict=False) for name, column in cells.items()}
        return pl.DataFrame(frame), pl.Series(_alike(labels)), pl.Series(_alike(groups))
    if form == "arrow":
        table = {name: pa.array(_alike(column)) for name, column in cells.items()}
        return pa.table(table), np.array(labels, dtype=object), pa.array(_alike(groups))
    matrix = np.array([[cells[name][i] for name in columns] for i in range(len(records))])
    if form == "sparse":
        matrix = sparse.csr_matrix(matrix)
    return matrix, np.array(labels), np.array(groups)


def _plain(cell: Any, name: str) -> Any:
    if name == "seen" and cell in DATES:
        return datetime.fromisoformat(cell)
    return float(cell) if isinstance(cell, Decimal) else cell


def _alike(column: list[Any]) -> list[Any]:
    """Return a column whose cells are of one type, text if they are not, as these libraries need it."""
    kinds = {type(cell) for cell in column if cell is not None}
    if kinds <= {int, float}:
        return [cell if cell is None or float not in kinds else float(cell) for cell in column]
    return column if len(kinds) == 1 else [None if cell is None else str(cell) for cell in column]


ODD_ROWS: dict[str, tuple[tuple[str, ...], Sequence[str], list[Cells]]] = {
    "gaps": (("pandas", "nullable", "polars", "arrow"), MIXED, [dict.fromkeys(MIXED)]),
    "words for numbers": (("pandas", "polars", "arrow"), MIXED, [{"age": "abc", "dose": "1e999", "colour": NUL}]),
    "not finite": (
        ("numpy", "sparse", "pandas"),
        NUMBERS,
        [{"age": np.nan, "dose": np.inf}, {"age": -np.inf, "dose": 1e308}],
    ),
    "huge": (("numpy", "pandas"), NUMBERS, [{"age": 2**63, "dose": -1e308}]),
    "label outside": (("pandas", "numpy"), NUMBERS, [{"y": "maybe"}]),
    "no label": (("pandas", "polars"), NUMBERS, [{"y": None}]),
    "no unit": (("pandas", "polars"), NUMBERS, [{"person": None}]),
    "no date": (("pandas", "nullable", "polars", "arrow"), DATED, [{"seen": None}]),
    "words for a date": (("pandas", "polars"), DATED, [{"seen": "soon"}]),
    "a date elsewhere": (
        ("pandas",),
        DATED,
        [{"seen": datetime(2020, 1, 5, tzinfo=JAPAN)}],
    ),
}
"""In which containers, with which columns, and what one person more has in them."""

ODD_CHANGES: dict[str, tuple[str, Cells]] = {
    "label outside": ("held labels", {"y": "maybe"}),
    "no label": ("held labels", {"y": None}),
    "label by its place": ("held labels", {"y": 0}),
    "other numbers": ("held replaced", {"age": np.nan, "dose": np.inf, "y": "maybe"}),
    "another label": ("held replaced", {"y": "no"}),
}
"""What becomes of one record where the number of records is public: only its label, or all of it."""


# --- The list -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbour:
    """A table that differs in one person from its base, or from a table that does."""

    name: str
    kind: str
    suffix: str
    table: Callable[[], Private]
    base: str = "crowd"

    def __str__(self) -> str:
        return f"{self.name} ({self.suffix})"


BASES: dict[str, tuple[str, Callable[[], Private]]] = {
    "crowd": (".csv", lambda: csv(CROWD)),
    "half a crowd": (".csv", lambda: csv(CROWD[::2])),
    "pictures": (".parquet", lambda: parquet(pictures(12))),
    "votes": (".npy", lambda: counted(votes(ORDINARY))),
    "single votes": (".csv", lambda: single(votes(ORDINARY))),
    **{
        f"{form} of {len(columns)}": (form, lambda f=form, c=columns: held(f, CROWD, c))
        for columns, forms in FORMS_OF.items()
        for form in forms
    },
}
"""What neighbours are compared with: where nothing private is let through, all tables of a case show the same."""


@cache
def neighbours() -> tuple[Neighbour, ...]:
    """Return the list.

    Kinds: "rows" add a person, and so do "single records" where all others have one and "images" where they have
    pictures; "replaced" change one record, "labels" one label, both "votes" a teacher's; "held" add a row in
    memory, with columns of all kinds or of numbers, "held labels" and "held replaced" change one.
    """
    more = {name: lambda r=records: csv([*CROWD, *strangers(r)]) for name, records in STRANGE.items()}
    more |= {
        "everything, first": lambda: csv([*strangers(EVERYTHING), *CROWD]),
        "nobody": lambda: csv([]),
        "nobody else": lambda: csv([SOMEBODY]),
        "nobody else, all odd": lambda: csv(strangers(EVERYTHING)),
    }
    return (
        *(Neighbour(name, "rows", ".csv", table) for name, table in more.items()),
        *(
            Neighbour(name, "rows", suffix, lambda w=written, t=types, c=cells: w(with_somebody(t, c)))
            for suffix, written in ((".parquet", parquet), (".arrow", arrow))
            for name, (types, cells) in RETYPED.items()
        ),
        Neighbour(
            "everything and odd lines",
            "rows",
            ".jsonl",
            lambda: json_lines([*strangers([*OTHERWISE, *EVERYTHING]), *CROWD], *ODD_LINES),
        ),
        Neighbour("nobody", "rows", ".jsonl", lambda: json_lines([])),
        *(
            Neighbour(name, "labels", ".jsonl", lambda c=cells: json_lines(changed(c)))
            for name, cells in RELABELLED_OTHERWISE.items()
        ),
        Neighbour("nobody", "rows", ".parquet", lambda: parquet(stored([], STORED))),
        Neighbour("nobody", "rows", ".arrow", lambda: arrow(stored([], STORED))),
        Neighbour(
            "two records that differ",
            "single records",
            ".csv",
            lambda: csv([*CROWD[::2], *strangers([{}, ILLEGIBLE])]),
            "half a crowd",
        ),
        *(
            Neighbour(name, kind, ".csv", lambda c=cells: csv(changed(c)))
            for kind, different in (("replaced", REPLACED | RELABELLED), ("labels", RELABELLED))
            for name, cells in different.items()
        ),
        *(
            Neighbour(name, "images", ".parquet", lambda k=kind, p=one: parquet(pictures(12, k, p)), "pictures")
            for name, (kind, one) in IMAGES.items()
        ),
        *(
            Neighbour(name, "single votes", ".csv", lambda v=turned: single(votes(v)), "single votes")
            for name, turned in TURNED.items()
        ),
        *(
            Neighbour(f"{kind}s", "votes", ".npy", lambda k=kind: counted(votes(ORDINARY[::-1]), k), "votes")
            for kind in ("int64", "uint8", "float64")
        ),
        *(
            Neighbour(
                name,
                "held numbers" if columns == NUMBERS else "held",
                form,
                lambda f=form, c=columns, r=records: held(f, [*CROWD, *strangers(r)], c),
                f"{form} of {len(columns)}",
            )
            for name, (forms, columns, records) in ODD_ROWS.items()
            for form in forms
        ),
        *(
            Neighbour(name, kind, form, lambda f=form, c=cells: held(f, changed(c), NUMBERS), f"{form} of 2")
            for name, (kind, cells) in ODD_CHANGES.items()
            for form in ("pandas", "arrow")
        ),
    )


def public() -> list[Cells]:
    """Return the public rows: other ordinary people, without ids and labels."""
    names = [name for name in CROWD[0] if name not in ("person", "y")]
    return [{name: one[name] for name in names} for one in people(N_PUBLIC, first=200)]
