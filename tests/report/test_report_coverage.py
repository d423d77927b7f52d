"""Counts of public rows: overall, per class and per public group."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapl.errors import InvalidData, InvalidParameter
from mapl.release import Classes
from mapl.report.coverage import MISSING, MOST_GROUPS, Coverage

STATUSES = ["answered", "fallback", "abstained", "not asked"]
CLASSES = Classes(("no", "yes"))
ROWS = st.lists(
    st.tuples(st.sampled_from(STATUSES), st.sampled_from(["no", "yes"]), st.sampled_from(["a", "b", None])),
    min_size=1,
    max_size=60,
)


def table(rows: list[tuple[str, str, str | None]]) -> pa.Table:
    return pa.table(
        {
            "question": np.arange(len(rows)),
            "label": pa.array(
                [label if status in STATUSES[:2] else None for status, label, _ in rows], pa.string()
            ),
            "status": pa.array([status for status, _, _ in rows]),
            "group": pa.array([group for _, _, group in rows], pa.string()),
        }
    )


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_every_row_is_counted_once(rows: list[tuple[str, str, str | None]]) -> None:
    found = Coverage.of(table(rows), CLASSES, ("group",))
    expected = Counter(status for status, _, _ in rows)
    overall = found.overall
    counted = [overall.answered, overall.fallback, overall.abstained, overall.not_asked]
    assert counted == [expected[s] for s in STATUSES]
    assert overall.rows == len(rows)
    assert overall.asked == len(rows) - expected["not asked"]
    labels = Counter(label for status, label, _ in rows if status in STATUSES[:2])
    assert {row.name: row.labels for row in found.per_class} == {"no": labels["no"], "yes": labels["yes"]}
    groups = Counter(MISSING if group is None else group for _, _, group in rows)
    assert {g.name: g.rows for g in found.groupings[0].groups} == dict(groups)
    assert sum(g.labelled for g in found.groupings[0].groups) == overall.labelled


def test_numbers_are_sorted_as_numbers_and_categories_as_declared() -> None:
    sizes = pa.array([10, 2, 1, 10])
    bands = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 0]), pa.array(["young", "middle", "old"]))
    rows = table([("answered", "no", "a")] * 4).append_column("size", sizes).append_column("band", bands)
    by_size, by_band = Coverage.of(rows, CLASSES, ("size", "band")).groupings
    assert [group.name for group in by_size.groups] == ["1", "2", "10"]
    assert [group.name for group in by_band.groups] == ["young", "middle", "old"]


def test_many_small_groups_are_counted_together() -> None:
    n = 100
    rows = table([("answered", "no", "a")] * (2 * n)).append_column("id", pa.array([*range(n), *[7] * n]))
    groups = Coverage.of(rows, CLASSES, ("id",)).groupings[0].groups
    assert len(groups) == MOST_GROUPS
    assert sum(group.rows for group in groups) == 2 * n
    assert max(groups, key=lambda g: g.rows).name in ("7", groups[-1].name)
    assert groups[-1].name == f"{n - MOST_GROUPS + 1} smaller groups"


def test_the_spread_of_a_grouping_names_its_ends() -> None:
    rows = [("answered", "no", "a"), ("abstained", "no", "b"), ("answered", "no", "b")]
    grouping = Coverage.of(table(rows), CLASSES, ("group",)).groupings[0]
    assert (grouping.lowest.name, grouping.lowest.coverage) == ("b", 0.5)
    assert (grouping.highest.name, grouping.highest.coverage) == ("a", 1.0)


def test_undeclared_classes_are_numbers() -> None:
    rows = table([("answered", "no", "a")] * 3).set_column(1, "label", pa.array([0, 2, 2], pa.int32()))
    found = Coverage.of(rows, Classes.numbered(3))
    assert [row.labels for row in found.per_class] == [1, 0, 2]


def test_bad_tables_are_refused_in_words() -> None:
    good = table([("answered", "no", "a")])
    with pytest.raises(InvalidData, match=r"no column 'status'; expected question, label and status"):
        Coverage.of(good.drop_columns("status"), CLASSES)
    with pytest.raises(InvalidParameter, match=r"no public column 'income' beside the labels"):
        Coverage.of(good, CLASSES, ("income",))
    with pytest.raises(InvalidData, match=r"none of the declared classes"):
        Coverage.of(good, Classes(("red", "green")))
    with pytest.raises(InvalidData, match=r"none of answered, fallback, abstained, not asked"):
        Coverage.of(good.set_column(2, "status", pa.array(["lost"])), CLASSES)
    nested = good.append_column("list", pa.array([[1, 2]]))
    with pytest.raises(InvalidParameter, match=r"text, numbers, dates or categories"):
        Coverage.of(nested, CLASSES, ("list",))
