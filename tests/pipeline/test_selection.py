"""Trying methods and choosing one privately: the exact promise, twins that are caught, and shares of the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tables import ALWAYS, CLASSES, EPSILON, KEY, asking, private

from mapl.audit.counts.tables import CellWorld, Table, below_exp, neighbours
from mapl.data.tables.table import PrivateTable
from mapl.data.units.identities import Identities
from mapl.data.units.shards import divide
from mapl.errors import InvalidParameter
from mapl.pipeline.choice.set_aside import JUDGES, PILOT, PURPOSE, SetAside, ThreeParts, part_units
from mapl.pipeline.methods.selection import request_of_winner, shares
from mapl.pipeline.request import Request
from mapl.pipeline.votes.labelling import identify_units
from mapl.release.best_of import BestOf
from mapl.release.cell_counts import SENSITIVITY
from mapl.types import Adjacency, Budget

# The exact promise: two methods with half of epsilon each on the pilot, the choice, and the winner with all of
# epsilon on the others, on all small tables and all neighbours.


Divide = Callable[[PrivateTable, Adjacency], tuple[PrivateTable, PrivateTable, PrivateTable]]


def honest(table: PrivateTable, adjacency: Adjacency) -> ThreeParts:
    return part_units(table, KEY, adjacency)


def chosen_by_those_tried_on(table: PrivateTable, adjacency: Adjacency) -> ThreeParts:
    parts = honest(table, adjacency)
    return parts._replace(judges=parts.pilot)


def chosen_by_everybody(table: PrivateTable, adjacency: Adjacency) -> ThreeParts:
    return honest(table, adjacency)._replace(judges=table)


def winner_on_the_pilot_too(table: PrivateTable, adjacency: Adjacency) -> ThreeParts:
    return honest(table, adjacency)._replace(others=table)


def winner_on_the_judges_too(table: PrivateTable, adjacency: Adjacency) -> ThreeParts:
    parts = divide(identify_units(table, adjacency), KEY, (PILOT, JUDGES), PURPOSE)
    return honest(table, adjacency)._replace(others=table.take(np.flatnonzero(parts > 0)))


def every_other_row(table: PrivateTable, adjacency: Adjacency) -> ThreeParts:
    rows = np.arange(len(table.labels))
    return ThreeParts(table.take(rows[::3]), table.take(rows[1::3]), table.take(rows[2::3]))


Law = tuple[Fraction, ...]
Counts = tuple[int, ...]


def law_of(parts: Divide, adjacency: Adjacency, unit: str | None) -> Callable[[Table], Law]:
    """Return the exact chances of (label of each pilot, choice, label of the winner) as a function of a table.

    A method here is a draw of a label by how many units have it, and its student always says that label. The second
    method turns every label round, so that who was chosen matters to what the winner releases. Everything else is
    what a run does: identities, parts, one record of each unit, scores, the choice.
    """
    request, sensitivity = asking(adjacency, unit), SENSITIVITY[adjacency]
    half, best = BestOf(EPSILON / 2, 2, sensitivity), BestOf(EPSILON, 2, sensitivity)
    known: dict[tuple[Counts, ...], Law] = {}

    def law(table: Table) -> Law:
        ids = [who for who, _, _ in table] if unit is not None else None
        whole = private([point for _, point, _ in table], [label for _, _, label in table], ids)
        pilot, judges, others = (SetAside.of(part, request, KEY) for part in parts(whole, adjacency))
        counts = tuple(tuple(int((one.labels == code).sum()) for code in (0, 1)) for one in (pilot, judges, others))
        if counts not in known:
            tried, right, rest = (np.array(one) for one in counts)
            assert [judges.right(one) for one in ALWAYS] == list(right)
            said, alone = half.law(tried), best.law(rest)
            known[counts] = tuple(
                said[a] * said[1 - b] * chance * (alone[label] if chosen == 0 else alone[1 - label])
                for a, b in product((0, 1), repeat=2)
                for chosen, chance in enumerate(best.law(right[[a, b]]))
                for label in (0, 1)
            )
        return known[counts]

    return law


def some_of_every_part(names: Iterable[Any], ids: Callable[[Any], Identities]) -> list[Any]:
    """Return two of the pilot, one who judges, and one of the others."""
    wanted = {0: 2, 1: 1, 2: 1}
    found: dict[int, list[Any]] = {part: [] for part in wanted}
    for name in names:
        found[int(divide(ids(name), KEY, (PILOT, JUDGES), PURPOSE)[0])].append(name)
        if all(len(found[part]) >= n for part, n in wanted.items()):
            return [name for part, n in wanted.items() for name in found[part][:n]]
    raise AssertionError("no such names")


def world(unit: str | None, adjacency: Adjacency) -> CellWorld:
    """People, or where there are none the records themselves, of every part."""
    if unit is not None:
        people = some_of_every_part(
            (f"p{i}" for i in range(400)), lambda name: identify_units(private([0.0], [0], [name]), adjacency)
        )
        return CellWorld(tuple(people), (0.0,), (0, 1), 3)
    # A label is part of a record's identity unless it is all that is private; points of every part are enough.
    points = some_of_every_part(map(float, range(400)), lambda x: identify_units(private([x], [0]), adjacency))
    return CellWorld(("nobody",), tuple(points), (0, 1), 3)


def worst_ratio(parts: Divide, adjacency: Adjacency, unit: str | None) -> Fraction:
    law = law_of(parts, adjacency, unit)
    laws: dict[Table, Any] = {table: law(table) for table in world(unit, adjacency).tables()}
    worst, n_pairs = Fraction(1), 0
    for n, pairs in neighbours(laws, adjacency, per_record=unit is None):
        n_pairs += n
        for (one, _), (other, _) in pairs:
            worst = max(worst, *(p / q for p, q in zip(one, other, strict=True)))
    assert n_pairs > 500
    return worst


CASES: list[tuple[Adjacency, str | None]] = [
    ("add-remove", "person"),
    ("add-remove", None),
    ("replace-one", "person"),
    ("labels", "person"),
    ("labels", None),
]


@pytest.mark.parametrize(("adjacency", "unit"), CASES)
def test_methods_and_choice_together_cost_one_epsilon(adjacency: Adjacency, unit: str | None) -> None:
    worst = worst_ratio(honest, adjacency, unit)
    assert below_exp(EPSILON / 2) < worst <= below_exp(EPSILON)


TWINS: list[Divide] = [
    chosen_by_those_tried_on,
    chosen_by_everybody,
    winner_on_the_pilot_too,
    winner_on_the_judges_too,
    every_other_row,
]


@pytest.mark.parametrize("twin", TWINS, ids=[twin.__name__ for twin in TWINS])
def test_a_unit_in_two_parts_is_caught(twin: Divide) -> None:
    assert worst_ratio(twin, "add-remove", "person") > below_exp(EPSILON)


# Shares of the budget.


@settings(max_examples=100, deadline=None)
@given(
    epsilon=st.floats(0.01, 100),
    delta=st.floats(1e-9, 0.1),
    names=st.sets(
        st.sampled_from(["teachers", "teachers/hgb", "cells", "cells/leaves", "cells/points"]), min_size=2
    ),
)
def test_shares_add_up_to_the_budget(epsilon: float, delta: float, names: set[str]) -> None:
    request = Request(Budget(epsilon, delta), CLASSES, method=f"select:{','.join(sorted(names))}", n_rows=1000)
    parts = shares(request)
    assert len(parts) == len(names)
    assert epsilon * (1 - 1e-12) <= sum(Fraction(part.budget.epsilon) for part in parts) <= Fraction(epsilon)
    teachers = [part for part, one in zip(parts, request.candidates, strict=True) if one.method == "teachers"]
    assert sum(part.budget.delta for part in teachers) <= delta * (1 + 1e-12)
    assert {part.n_rows for part in parts} == {round(PILOT * 1000)}
    assert request_of_winner(request).budget == request.budget
    assert request_of_winner(request).n_rows == round((1 - PILOT - JUDGES) * 1000)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("select:cells", "name 2 to 8 different methods"),
        ("select:cells,cells", "name 2 to 8 different methods"),
        (
            "select:teachers,cells/squares",
            "'cells/squares'; allowed are teachers, cells, moments, teachers/LEARNER",
        ),
        ("select:teachers/nobody,cells", "'teachers/nobody'; allowed are"),
        ("select:", "name 2 to 8"),
        ("selected", "or a private selection such as select:teachers,cells"),
    ],
)
def test_other_lists_are_refused(method: str, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        asking("add-remove", None, method=method)


def test_cells_alone_have_no_teachers() -> None:
    with pytest.raises(InvalidParameter, match="Cells have no teachers, and a number of teachers was asked for"):
        asking("add-remove", None, method="select:cells,cells/leaves", n_teachers=10)
