"""Units set aside to compare students: one part and one record each, and predictions that others do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tables import ALWAYS, KEY, asking, private, student

from mapl.data.identities import Identities
from mapl.errors import GuaranteeBroken
from mapl.pipeline.request import Adjacency
from mapl.pipeline.set_aside import PLACES, SHARE, SetAside, parted, refuse_shared


@settings(max_examples=60, deadline=None)
@given(
    ids=st.lists(st.integers(0, 30), min_size=1, max_size=60), adjacency=st.sampled_from(["add-remove", "labels"])
)
def test_a_unit_is_in_one_part_whoever_else_is_there(ids: list[int], adjacency: Adjacency) -> None:
    table = private(np.arange(len(ids)) / 7, np.zeros(len(ids), int), map(str, ids))
    learned_from, aside = parted(table, KEY, adjacency)
    mine, others = set(learned_from.unit_ids.to_pylist()), set(aside.unit_ids.to_pylist())
    assert not mine & others
    assert len(learned_from.labels) + len(aside.labels) == len(ids)
    alone = private([0.0], [1], [str(ids[0])])
    assert (len(parted(alone, KEY, adjacency)[1].labels) == 1) == (str(ids[0]) in others)


def test_about_a_fifth_is_set_aside() -> None:
    n = 4000
    _, aside = parted(private(np.arange(n), np.zeros(n, int)), KEY, "add-remove")
    assert abs(len(aside.labels) - SHARE * n) < 5 * (n * SHARE * (1 - SHARE)) ** 0.5


def test_a_unit_in_both_parts_is_refused() -> None:
    ids = Identities.of([b"ann", b"bob", b"ann"])
    refuse_shared(ids, np.array([True, False, True]))
    with pytest.raises(GuaranteeBroken, match="learned from and set aside"):
        refuse_shared(ids, np.array([True, False, False]))


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
