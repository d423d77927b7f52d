"""What public columns of text are drafted as, and what is said where they leave a doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mapl.data import conform, draft_schema
from mapl.data.drafts.draft_notices import notices_of
from mapl.data.drafts.draft_schema import change_schema
from mapl.data.tables.column import Column
from mapl.data.tables.column_choices import ColumnChoices
from mapl.data.tables.kinds import describe_kinds
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter

N = 2000
RNG = np.random.default_rng(0)
WORK = [
    "private company with many people",
    "never worked at all so far",
    "for the government of the state",
    "self employed and not incorporated",
    "without pay of any kind",
]
CODES = [f"{letter}{i:02d}.{j}" for letter in "EIV" for i in range(40) for j in range(4)]
OFTEN = 1 / np.arange(1, len(CODES) + 1)
DRAWN = RNG.choice(CODES, N, p=OFTEN / OFTEN.sum()).tolist()
AGES = [*map(str, RNG.integers(18, 90, N - 20).tolist()), *["unknown"] * 20]


def drafted(cells: Any, **choices: Any) -> tuple[Column, tuple[str, ...]]:
    """Draft one column; what is drafted reads the rows that it was drafted from, in every container."""
    table = pa.table({"a": cells})
    schema = draft_schema(table, **choices)
    conform(table, schema, "public rows", public=True)
    frame = table.to_pandas()
    assert draft_schema(frame, **choices) == schema
    assert notices_of(frame, schema) == notices_of(table, schema)
    return schema.columns[0], notices_of(table, schema)


def test_few_values_are_categories_whatever_they_look_like() -> None:
    column, said = drafted([WORK[i % 5] for i in range(N)])
    assert (column.kind, column.categories, column.rest, said) == ("category", tuple(sorted(WORK)), False, ())


def test_codes_with_hundreds_of_values_are_categories_with_a_rest() -> None:
    column, said = drafted(DRAWN)
    assert (column.kind, column.rest, said) == ("category", True, ())
    assert 20 < len(column.categories) <= 100
    assert all(DRAWN.count(one) >= 5 for one in column.categories)
    assert len(set(DRAWN)) > 150


def test_codes_of_digits_and_some_letters_are_no_numbers() -> None:
    """Diagnoses of the ninth revision: most look like numbers, some begin with V."""
    cells = [*(f"{one % 900}.{one % 10}" for one in RNG.zipf(1.5, N - 60).tolist()), *(f"V{i}" for i in range(60))]
    assert drafted(cells)[0].kind == "category"
    assert drafted([f"{i % 150:05d}" for i in range(N)])[0].kind == "category"


def test_rare_values_are_listed_where_there_are_no_others() -> None:
    column, _ = drafted([f"code{i}" for i in range(N)])
    assert (column.kind, len(column.categories), column.rest) == ("category", 100, True)


@pytest.mark.parametrize(
    "cells",
    [
        [f"patient {i} came with pain in the back" for i in range(N)],
        [f"patient {i} came with pain in the back" if i % 5 > 1 else "none" for i in range(N)],
        [f"film {i} ok" for i in range(N)],
        [f"{chr(0x4E00 + i)}{chr(0x5E00 + i)}电影很好看" for i in range(N)],
        [f"a row of few, number {i}" for i in range(10)],
    ],
    ids=["notes", "notes, many alike", "short phrases", "no spaces", "few rows"],
)
def test_text_is_long_and_hardly_ever_repeats(cells: list[str]) -> None:
    assert drafted(cells)[0].kind == "text"


def test_a_few_words_do_not_make_numbers_categories() -> None:
    column, (said,) = drafted(AGES)
    assert (column.kind, column.blanks, column.missing) == ("number", ("unknown",), True)
    assert 50 < column.centre < 58
    assert "drafted as a number, though 20 of its public cells say 'unknown'" in said
    assert "count as missing" in said
    assert "say so with categories" in said


def test_numbers_that_are_stored_as_text_are_numbers() -> None:
    column, said = drafted([str(i / 7) for i in range(N)])
    assert (column.kind, column.blanks, column.missing, said) == ("number", (), False, ())
    assert drafted([*map(str, range(50)), "NA", "NA"])[0].blanks == ()
    mixed = pd.DataFrame({"a": [*range(50), 2.5, "?"]})
    assert draft_schema(mixed).columns[0].blanks == ("?",)


@pytest.mark.parametrize(
    "cells",
    [
        ["unknown"] * 60 + [str(i) for i in range(40)],
        [str(i % 5) for i in range(90)] + ["none"] * 10,
        [str(i) for i in range(90)] + [f"word {chr(97 + i)}" for i in range(12)],
        [str(i) for i in range(90)] + ["12a"],
    ],
    ids=["mostly words", "few numbers", "many words", "a code"],
)
def test_what_is_not_mostly_numbers(cells: list[str]) -> None:
    assert drafted(cells)[0].kind == "category"


DAYS = [(1 + i % 28, 1 + i % 12) for i in range(N)]
EARLY = [(1 + i % 12, 1 + (7 * i) % 12) for i in range(N)]


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        ([f"{d:02d}/{m:02d}/2024" for d, m in DAYS], "day-first"),
        ([f"{d:02d}-{m:02d}-2024" for d, m in DAYS], "day-first"),
        ([f"{d:02d}.{m:02d}.2024" for d, m in DAYS], "day-first"),
        ([f"{d}.{m}.2024 13:45" for d, m in DAYS], "day-first"),
        ([f"2024-{m:02d}-{d:02d}T13:45:00Z" for d, m in DAYS], ""),
        ([f"2024-{m:02d}-{d:02d}" for d, m in DAYS], ""),
        ([f"2024-{m:02d}-{d:02d}" if d < 20 else f"{d}/{m}/2024" for d, m in DAYS], "day-first"),
    ],
)
def test_dates(cells: list[str], order: str) -> None:
    column, said = drafted(cells)
    assert (column.kind, column.order, said) == ("date", order, ())
    assert 19_723 < column.centre < 20_089


def test_days_and_months_that_cannot_be_told_apart_are_decided_once_and_said() -> None:
    column, (said,) = drafted([f"{d:02d}/{m:02d}/2024" for d, m in EARLY])
    assert (column.kind, column.order) == ("date", "day-first")
    assert "no public cell tells day and month apart" in said
    assert '"order": "month-first"' in said
    assert drafted([f"{d:02d}.{m:02d}.2024" for d, m in EARLY]) == (column, ())  # with points it is the day


def test_months_come_first_where_public_cells_say_so_and_that_is_said() -> None:
    column, (said,) = drafted([f"{m:02d}/{d:02d}/2024" for d, m in DAYS])
    assert (column.kind, column.order) == ("date", "month-first")
    assert "month first" in said
    assert '"order": "day-first"' in said


def test_dates_that_contradict_each_other_are_none() -> None:
    assert drafted(["31/01/2024", "01/31/2024"] * 50)[0].kind == "category"
    assert drafted(["31/01/2024", "30/02/2024"] * 50)[0].kind == "category"
    assert drafted(["31/01.2024"] * 50)[0].kind == "category"


def test_words_among_dates() -> None:
    column, (said,) = drafted([f"{d}/{m}/2024" for d, m in DAYS] + ["not yet"] * 5)
    assert (column.kind, column.order, column.blanks) == ("date", "day-first", ("not yet",))
    assert "drafted as a date, though 5 of its public cells say 'not yet'" in said


def test_columns_may_be_declared_as_categories() -> None:
    assert drafted(AGES, categories=["a"])[0].kind == "category"
    column, _ = drafted(pa.array([i % 7 for i in range(N)], pa.int64()), categories=["a"])
    assert column.categories == tuple("0123456")
    assert drafted(pa.array(range(N)), categories=["a"])[0].rest
    pixels = pa.table({"a": pa.array([[1, 2]] * 5, pa.list_(pa.uint8(), 2)), "b": [1] * 5})
    with pytest.raises(InvalidParameter, match="lists of numbers"):
        draft_schema(pixels, categories=["a"])


TABLE = pa.table({"age": [1, 2, 3], "weight": [4, 5, 6], "town": ["a", "b", "c"], "y": ["no", "yes", "no"]})


def test_dropped_columns_may_be_there_or_not() -> None:
    schema = draft_schema(TABLE, label="y", drop=["weight"])
    assert (schema.names, schema.dropped) == (("age", "town"), ("weight",))
    assert Schema.from_json(schema.to_json()) == schema
    for rows in (TABLE, TABLE.drop_columns(["weight"])):
        assert conform(rows, schema, "private rows").column_names == ["age", "town"]
    with pytest.raises(InvalidData, match="'height'"):
        conform(TABLE.append_column("height", [[1, 2, 3]]), schema, "private rows")


def test_a_schema_without_choices_is_written_as_ever() -> None:
    assert '"dropped"' not in draft_schema(TABLE).to_json()
    assert '"rest"' not in draft_schema(TABLE).to_json()


def test_a_given_schema_is_changed_by_the_same_choices() -> None:
    given = draft_schema(TABLE, label="y")
    changed = change_schema(given, TABLE, ColumnChoices(("weight",), ("age",)))
    assert changed == draft_schema(TABLE, label="y", drop=["weight"], categories=["age"])
    assert change_schema(given, TABLE, ColumnChoices()) is given


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"drop": ["weigt"]}, "drop names 'weigt'.*Did you mean 'weight'"),
        ({"categories": ["Towm"]}, "categories names 'Towm'.*Did you mean 'town'"),
        ({"categories": ["xyz"]}, "Name some of 'age', 'weight', 'town'"),
        ({"drop": ["y"]}, "which is the label or the unit"),
        ({"drop": ["age"], "categories": ["age"]}, "both name 'age'"),
        ({"drop": ["age", "weight", "town"]}, "no columns"),
    ],
)
def test_choices_that_cannot_be_kept(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        draft_schema(TABLE, label="y", **choices)
    with pytest.raises(InvalidParameter, match="matrix"):
        draft_schema(np.eye(3), drop=["x0"])


def test_what_is_dropped_may_be_a_column_of_the_private_table_alone() -> None:
    given = draft_schema(TABLE, label="y")
    dropped = draft_schema(TABLE, label="y", drop=["insurer"])
    assert (dropped.columns, dropped.dropped) == (given.columns, ("insurer",))
    assert change_schema(given, TABLE, ColumnChoices(("insurer",))) == dropped


def test_kinds_in_one_line() -> None:
    columns = (
        *(Column(f"n{j}", "number") for j in range(5)),
        Column("icd", "category", ("E11",), rest=True),
        Column("sex", "category", ("f", "m")),
        Column("note", "text"),
        Column("seen", "date"),
    )
    told = describe_kinds(Schema(columns, dropped=("stamp",)))
    assert told == "5 numbers, 2 categories (1 with a rest group), 1 text: note, 1 date; dropped: stamp"
