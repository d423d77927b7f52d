"""Units set aside to compare students: one part and one record each, and predictions that others do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toy_tables import ALWAYS, KEY, asking, private, student

from mapl.data.units.identities import Identities
from mapl.errors import GuaranteeBroken
from mapl.pipeline.choice.set_aside import JUDGES, PILOT, PLACES, SetAside, part_units, refuse_shared
from mapl.types import Adjacency


@settings(max_examples=60, deadline=None)
@given(
    ids=st.lists(st.integers(0, 30), min_size=1, max_size=60), adjacency=st.sampled_from(["add-remove", "labels"])
)
def test_a_unit_is_in_one_part_whoever_else_is_there(ids: list[int], adjacency: Adjacency) -> None:
    table = private(np.arange(len(ids)) / 7, np.zeros(len(ids), int), map(str, ids))
    parts = part_units(table, KEY, adjacency)
    who = [set(part.unit_ids.to_pylist()) for part in parts]
    assert sum(map(len, who)) == len(set(ids)) == len(set.union(*who))
    assert sum(len(part.labels) for part in parts) == len(ids)
    alone = part_units(private([0.0], [1], [str(ids[0])]), KEY, adjacency)
    assert [len(part.labels) == 1 for part in alone] == [str(ids[0]) in one for one in who]


def test_parts_are_about_as_large_as_they_should_be() -> None:
    n = 4000
    parts = part_units(private(np.arange(n), np.zeros(n, int)), KEY, "add-remove")
    for part, share in zip(parts, (PILOT, JUDGES, 1 - PILOT - JUDGES), strict=True):
        assert abs(len(part.labels) - share * n) < 5 * (n * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("apart", [(0, 1), (1, 2), (0, 2), (2, 0)])
def test_a_unit_in_two_parts_is_refused(apart: tuple[int, int]) -> None:
    ids = Identities.of([b"ann", b"bob", b"ann"])
    refuse_shared(ids, np.array([apart[0], apart[1], apart[0]], np.int8))
    with pytest.raises(GuaranteeBroken, match="in two parts of the units"):
        refuse_shared(ids, np.array([apart[0], apart[1], apart[1]], np.int8))


def rounding(rows: Any) -> Any:
    """Predict as matrix products round: otherwise in another place, and among another number of rows."""
    return (np.arange(len(rows)) + len(rows) + np.floor(rows[:, 0])).astype(int) % 2


def failing(rows: Any) -> Any:
    """Fail on negative numbers, and quote them."""
    if (rows < 0).any():
        raise ValueError(f"I cannot read {rows[rows < 0]}")
    return rows[:, 0] > 4


points = st.lists(st.tuples(st.integers(-2, 9), st.booleans()), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(records=points, place=st.integers(0, 40), function=st.sampled_from([rounding, failing]))
@example(records=[(-1, True), (9, True), (8, True), (7, True)], place=0, function=failing)
def test_one_record_more_is_right_or_wrong_and_changes_nothing_else(
    records: list[tuple[int, bool]], place: int, function: Callable[[Any], Any]
) -> None:
    request, judged = asking("add-remove", None), student(function)
    place = min(place, len(records) - 1)
    others = records[:place] + records[place + 1 :]

    def right(some: list[tuple[int, bool]]) -> int:
        table = private([x for x, _ in some], [int(y) for _, y in some])
        return SetAside.of(table, request, KEY).right(judged)

    alone = right([records[place]])
    assert alone in (0, 1)
    assert right(records) == right(others) + alone


def test_predicting_all_at_once_would_not_do() -> None:
    """The control of the test above: with all rows in one block, one more changes what is predicted for others."""
    rows, labels = np.zeros((8, 1)), np.arange(8) % 2
    right = [int((rounding(rows[:n]) == labels[:n]).sum()) for n in (8, 7)]
    assert right[0] - right[1] not in (0, 1)


def test_scores_are_those_of_an_ordinary_count() -> None:
    drawn = np.random.default_rng(0)
    rows, labels = drawn.normal(size=3000), drawn.integers(0, 2, 3000)
    aside = SetAside.of(private(rows, labels), asking("add-remove", None), KEY)
    assert aside.right(student(lambda some: some[:, 0] > 0.3)) == int(((rows > 0.3) == labels).sum())
    assert aside.right(None) == 0
    assert len(labels) / PLACES > 10  # several turns
    assert "private" in repr(aside)
    empty = SetAside.of(private([], []), asking("add-remove", None), KEY)
    assert empty.right(ALWAYS[0]) == 0


def test_of_a_unit_one_record_counts() -> None:
    table = private(np.arange(60), np.zeros(60, int), [f"p{i % 7}" for i in range(60)])
    assert SetAside.of(table, asking("add-remove", "person"), KEY).right(ALWAYS[0]) == 7
