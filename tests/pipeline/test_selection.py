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

from mapl.audit.cell_tables import Table, World, below_exp, neighbours
from mapl.data.identities import Identities
from mapl.data.shards import split
from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.pipeline.label import identities
from mapl.pipeline.request import Adjacency, Request
from mapl.pipeline.selection import shares
from mapl.pipeline.set_aside import PURPOSE, SHARE, SetAside, parted
from mapl.release.best_of import BestOf
from mapl.release.cell_counts import SENSITIVITY
from mapl.types import Budget

# The exact promise: two methods with half of epsilon each, and the choice, on all small tables and all neighbours.


Parts = Callable[[PrivateTable, Adjacency], tuple[PrivateTable, PrivateTable]]


def honest(table: PrivateTable, adjacency: Adjacency) -> tuple[PrivateTable, PrivateTable]:
    return parted(table, KEY, adjacency)


def chosen_by_those_learned_from(table: PrivateTable, adjacency: Adjacency) -> tuple[PrivateTable, PrivateTable]:
    learned_from, _ = parted(table, KEY, adjacency)
    return learned_from, learned_from


def chosen_by_everybody(table: PrivateTable, adjacency: Adjacency) -> tuple[PrivateTable, PrivateTable]:
    return parted(table, KEY, adjacency)[0], table


def every_other_row(table: PrivateTable, adjacency: Adjacency) -> tuple[PrivateTable, PrivateTable]:
    rows = np.arange(len(table.labels))
    ids = table.unit_ids
    some = [
        PrivateTable(table.rows[here], table.labels[here], None if ids is None else ids.take(rows[here]))
        for here in (rows % 2 == 0, rows % 2 == 1)
    ]
    return some[0], some[1]


Law = tuple[Fraction, ...]


def law_of(parts: Parts, adjacency: Adjacency, unit: str | None) -> Callable[[Table], Law]:
    """Return the exact chances of (label of one method, label of the other, choice) as a function of a table.

    A method here is a draw of a label by how many units have it, at half of epsilon, and its student always says
    that label. Everything else is what a run does: identities, parts, one record of each unit, scores, the choice.
    """
    request, sensitivity = asking(adjacency, unit), SENSITIVITY[adjacency]
    vote, best = BestOf(EPSILON / 2, 2, sensitivity), BestOf(EPSILON, 2, sensitivity)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Law] = {}

    def law(table: Table) -> Law:
        ids = [who for who, _, _ in table] if unit is not None else None
        whole = private([point for _, point, _ in table], [label for _, _, label in table], ids)
        learned_from, aside = parts(whole, adjacency)
        taught, judges = (SetAside.of(part, request, KEY) for part in (learned_from, aside))
        votes = tuple(int((taught.labels == code).sum()) for code in (0, 1))
        right = tuple(int((judges.labels == code).sum()) for code in (0, 1))
        if (votes, right) not in known:
            assert [judges.right(one) for one in ALWAYS] == list(right)
            said = vote.law(np.array(votes))
            known[votes, right] = tuple(
                said[a] * said[b] * chance
                for a, b in product((0, 1), repeat=2)
                for chance in best.law(np.array([right[a], right[b]]))
            )
        return known[votes, right]

    return law


def some_of_both_parts(names: Iterable[Any], ids: Callable[[Any], Identities]) -> list[Any]:
    """Return two that the key sets aside, and two that it does not."""
    found: dict[bool, list[Any]] = {True: [], False: []}
    for name in names:
        found[bool(split(ids(name), KEY, SHARE, PURPOSE)[0])].append(name)
        if all(len(one) >= 2 for one in found.values()):
            return [*found[True][:2], *found[False][:2]]
    raise AssertionError("no such names")


def world(unit: str | None, adjacency: Adjacency) -> World:
    """People, or where there are none the records themselves, of whom some are set aside."""
    if unit is not None:
        people = some_of_both_parts(
            (f"p{i}" for i in range(100)), lambda name: identities(private([0.0], [0], [name]), adjacency)
        )
        return World(tuple(people), (0.0,), (0, 1), 3)
    # A label is part of a record's identity unless it is all that is private; points on both sides are enough.
    points = some_of_both_parts(map(float, range(100)), lambda x: identities(private([x], [0]), adjacency))
    return World(("nobody",), tuple(points), (0, 1), 3)


def worst_ratio(parts: Parts, adjacency: Adjacency, unit: str | None) -> Fraction:
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


TWINS: list[Parts] = [chosen_by_those_learned_from, chosen_by_everybody, every_other_row]


@pytest.mark.parametrize("twin", TWINS, ids=[twin.__name__ for twin in TWINS])
def test_a_choice_by_others_is_caught(twin: Parts) -> None:
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
    assert {part.n_rows for part in parts} == {800}


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("select:cells", "name 2 to 8 different methods"),
        ("select:cells,cells", "name 2 to 8 different methods"),
        ("select:teachers,cells/squares", "'cells/squares'; allowed are teachers, cells, teachers/LEARNER"),
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
