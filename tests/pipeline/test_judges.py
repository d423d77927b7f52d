"""Units that judge students: one record each, and predictions that others do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toy_tables import ALWAYS, KEY, asking, private, student

from mapl.pipeline.choice.judges import MOST_JUDGES, PLACES, Judges
from mapl.types import Adjacency


@settings(max_examples=60, deadline=None)
@given(
    ids=st.lists(st.integers(0, 30), min_size=1, max_size=60), adjacency=st.sampled_from(["add-remove", "labels"])
)
def test_who_judges_does_so_whoever_else_is_there(ids: list[int], adjacency: Adjacency) -> None:
    request = asking(adjacency, "person", n_rows=2 * MOST_JUDGES)

    def judging(some: list[int]) -> int:
        table = private(np.arange(len(some)) / 7, np.zeros(len(some), int), map(str, some))
        return Judges.of(table, request, KEY).right(ALWAYS[0])

    assert judging(ids) == sum(judging([one]) for one in set(ids))


def test_about_so_many_judge_as_are_enough() -> None:
    n = 4000
    table = private(np.arange(n), np.zeros(n, int))
    for declared, share in ((10 * MOST_JUDGES, 0.1), (MOST_JUDGES, 1.0), (None, 1.0)):
        judges = Judges.of(table, asking("add-remove", None, n_rows=declared), KEY)
        assert abs(judges.right(ALWAYS[0]) - share * n) <= 5 * (n * share * (1 - share)) ** 0.5


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
        return Judges.of(table, request, KEY).right(judged)

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
    judges = Judges.of(private(rows, labels), asking("add-remove", None), KEY)
    assert judges.right(student(lambda some: some[:, 0] > 0.3)) == int(((rows > 0.3) == labels).sum())
    assert judges.right(None) == 0
    assert len(labels) / PLACES > 10  # several turns
    assert "private" in repr(judges)
    empty = Judges.of(private([], []), asking("add-remove", None), KEY)
    assert empty.right(ALWAYS[0]) == 0


def test_of_a_unit_one_record_counts() -> None:
    table = private(np.arange(60), np.zeros(60, int), [f"p{i % 7}" for i in range(60)])
    assert Judges.of(table, asking("add-remove", "person"), KEY).right(ALWAYS[0]) == 7
