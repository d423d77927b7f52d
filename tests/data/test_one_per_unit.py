"""One record per unit: chosen by the unit's own records alone, whoever else is in the table, in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.data import Column, Schema
from mapl.data.units.identities import AT_ONCE
from mapl.data.units.one_per_unit import (
    latest_column,
    moments,
    one_per_unit,
    refuse_repeated,
    refuse_unordered,
)
from mapl.data.units.shards import ShardKey
from mapl.errors import GuaranteeBroken, InvalidParameter

KEY = ShardKey(bytes(range(32)))

Record = tuple[bytes, bytes, float]
"""Whose a row is, what it says, and when that was."""

RECORDS = st.lists(
    st.tuples(
        st.sampled_from([b"ann", b"bob", b"cem", b"a\0b"]),
        st.sampled_from([bytes([i]) * 16 for i in range(6)]),
        st.sampled_from([0.0, 1.0, 2.0, float("nan")]),
    ),
    max_size=14,
)
LATEST = st.booleans()


def kept(records: Sequence[Record], *, latest: bool, key: ShardKey = KEY) -> list[int]:
    when = np.array([one[2] for one in records], dtype=float) if latest else None
    found = one_per_unit([one[0] for one in records], [one[1] for one in records], key, when=when)
    assert found.dtype == np.int64
    return found.tolist()


def chosen(records: Sequence[Record], *, latest: bool) -> dict[bytes, tuple[bytes, str]]:
    """Return what counts for each unit, and when that was, where it plays a part."""
    rows = kept(records, latest=latest)
    return {records[i][0]: (records[i][1], str(records[i][2]) if latest else "") for i in rows}


@settings(max_examples=200, deadline=None)
@given(records=RECORDS, latest=LATEST, data=st.data())
def test_one_row_of_each_unit_in_the_order_of_the_table_whatever_that_is(
    records: list[Record], latest: bool, data: Any
) -> None:
    rows = kept(records, latest=latest)
    assert rows == sorted(rows)
    assert sorted(records[i][0] for i in rows) == sorted({one[0] for one in records})
    shuffled = data.draw(st.permutations(records))
    assert chosen(shuffled, latest=latest) == chosen(records, latest=latest)


@settings(max_examples=200, deadline=None)
@given(records=RECORDS, newcomer=RECORDS, latest=LATEST, data=st.data())
def test_somebody_more_changes_nothing_for_anybody_else(
    records: list[Record], newcomer: list[Record], latest: bool, data: Any
) -> None:
    """Wherever the new rows stand, all others keep theirs, to the row."""
    who = data.draw(st.sampled_from([b"aaa", b"bea", b"zoe"]))
    theirs = [(who, *one[1:]) for one in newcomer]
    order = data.draw(st.permutations(range(len(records) + len(theirs))))
    places = sorted(order[: len(records)])  # the old rows keep their own order
    both = dict(zip(places, records, strict=True)) | dict(zip(sorted(order[len(records) :]), theirs, strict=True))
    table = [both[i] for i in range(len(both))]
    old = [i for i in kept(table, latest=latest) if table[i][0] != who]
    assert [places.index(i) for i in old] == kept(records, latest=latest)


def test_of_rows_that_are_alike_the_first_counts() -> None:
    """Digests are alike where rows differ by less than a 32-bit float; which one counts must still be settled."""
    ids = [b"ann", b"bob"] * 500
    assert one_per_unit(ids, [b"same"] * 1000, KEY).tolist() == [0, 1]
    assert one_per_unit(ids, [b"same"] * 1000, KEY, when=np.ones(1000)).tolist() == [0, 1]


def test_a_lot_is_neither_first_nor_lowest_but_keyed() -> None:
    contents = [bytes([i]) for i in range(200)]
    drawn = {int(one_per_unit([b"ann"] * 200, contents, ShardKey(bytes([i]) * 32))[0]) for i in range(20)}
    assert len(drawn) > 10
    # Everybody has lots of their own: the same 200 records under other ids.
    by_id = {int(one_per_unit([bytes([i])] * 200, contents, KEY)[0]) for i in range(20)}
    assert len(by_id) > 10


def test_lots_are_fair() -> None:
    """Of 3000 units with two records each the first one counts for about a half (six standard deviations)."""
    ids = [str(i // 2).encode() for i in range(6000)]
    rows = one_per_unit(ids, [b"first", b"second"] * 3000, KEY)
    assert abs(np.count_nonzero(rows % 2 == 0) - 1500) < 6 * np.sqrt(750)


def test_more_rows_than_are_python_objects_at_once() -> None:
    n = 2 * AT_ONCE + 5
    ids = [str(i % 1000).encode() for i in range(n)]
    contents = [str(i).encode() for i in range(n)]
    rows = one_per_unit(ids, contents, KEY)
    assert sorted(i % 1000 for i in rows) == list(range(1000))
    some = [i for i in range(n) if i % 1000 == 7]
    alone = one_per_unit([ids[i] for i in some], [contents[i] for i in some], KEY)
    assert rows[rows % 1000 == 7].tolist() == [some[alone[0]]]


def test_the_latest_record_counts_and_one_without_a_date_only_by_itself() -> None:
    ids = [b"ann"] * 3 + [b"bob"] * 2 + [b"cem"]
    when = np.array([1.0, 3.0, 2.0, float("nan"), -5.0, float("nan")])
    assert one_per_unit(ids, [b"x"] * 6, KEY, when=when).tolist() == [1, 4, 5]


def test_moments_do_not_hang_on_other_peoples_empty_cells() -> None:
    """Whole numbers beyond 2^53 would be told apart in one table and not in the other."""
    times = [2**60, 2**60 + 1]
    assert (moments(pa.array(times)) == moments(pa.array([*times, None]))[:2]).all()
    days = moments(pa.array(["2024-01-31", None, "2023-01-31"]).cast(pa.timestamp("us")))
    assert days[0] - days[2] == 365
    assert np.isnan(days[1])


def test_a_unit_with_two_rows_is_never_counted() -> None:
    ids = [b"ann", b"bob", b"ann"]
    refuse_repeated(ids, np.array([0, 1]))
    with pytest.raises(GuaranteeBroken, match="counted in two cells") as refused:
        refuse_repeated(ids, np.array([0, 1, 2]))
    assert "ann" not in str(refused.value)


@pytest.mark.parametrize("given", ["", "first", "latest", "latest:", "Keyed", "only:age"])
def test_other_rules_are_refused(given: str) -> None:
    with pytest.raises(InvalidParameter, match="choose keyed"):
        latest_column(given)


def test_the_column_must_be_a_number_or_a_date_of_the_schema() -> None:
    columns = (Column("age", "number"), Column("day", "date"), Column("place", "category", categories=("x",)))
    schema = Schema(columns, label="ill", unit="person")
    for fine in ("keyed", "only", "latest:age", "latest:day"):
        refuse_unordered(fine, schema)
    for name in ("place", "ill", "person", "nothing"):
        with pytest.raises(InvalidParameter, match=rf"'{name}'.*choose among age, day"):
            refuse_unordered(f"latest:{name}", schema)
    with pytest.raises(InvalidParameter, match="no such column"):
        refuse_unordered("latest:age", Schema(columns[2:]))
