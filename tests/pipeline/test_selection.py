"""Trying methods and choosing one privately: the exact promise, twins that are caught, and shares of the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tables import ALWAYS, EPSILON, KEY, asking, private

from mapl.audit.counts.tables import CellWorld, Table, below_exp, neighbours
from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.pipeline.choice.judges import Judges
from mapl.pipeline.choice.shares import share_selection_budget
from mapl.pipeline.counts.one_record import keep_one_record
from mapl.pipeline.request import Request
from mapl.release.best_of import BestOf
from mapl.release.cell_counts import SENSITIVITY
from mapl.types import Adjacency, Budget

# The exact promise: two methods that are tried, the choice and the winner, all of them about all units, on all
# small tables and all neighbours.

TRIED, CHOICE, WINNER = EPSILON / 6, EPSILON / 3, EPSILON / 3
"""Shares that let every step matter; two methods are tried."""


@dataclass(frozen=True)
class Way:
    """What each step is priced at, and whose records judge; honest as it stands."""

    tried: float = TRIED
    choice: float = CHOICE
    winner: float = WINNER
    judges: Callable[[PrivateTable, Request], Judges] = lambda table, request: Judges.of(table, request, KEY)


def by_their_place(table: PrivateTable, request: Request) -> Judges:
    return Judges.of(table.take(np.arange(0, len(table.labels), 2)), request, KEY)


def by_every_record(table: PrivateTable, request: Request) -> Judges:
    return Judges.of(PrivateTable(table.rows, table.labels), request, KEY)


HONEST = Way()
TWINS = {
    "each of two methods has the share of both": Way(tried=2 * TRIED),
    "trying is not paid for": Way(winner=WINNER + 2 * TRIED),
    "the choice is not paid for": Way(winner=WINNER + CHOICE),
    "the winner has all of epsilon": Way(winner=EPSILON),
    "who judges is told by the place of a row": Way(judges=by_their_place),
    "every record of a unit judges": Way(judges=by_every_record),
}

Law = tuple[Fraction, ...]
Counts = tuple[int, ...]


def law_of(way: Way, adjacency: Adjacency, unit: str | None) -> Callable[[Table], Law]:
    """Return the exact chances of (label of each pilot, choice, label of the winner) as a function of a table.

    A method here is a draw of a label by how many units have it, and its student always says that label. The second
    method turns every label round, so that who was chosen matters to what the winner releases. Everything else is
    what a run does: identities, one record of each unit, scores, the choice.
    """
    request, sensitivity = asking(adjacency, unit), SENSITIVITY[adjacency]
    tried, best, alone = (BestOf(epsilon, 2, sensitivity) for epsilon in (way.tried, way.choice, way.winner))
    known: dict[tuple[Counts, Counts], Law] = {}

    def law(table: Table) -> Law:
        ids = [who for who, _, _ in table] if unit is not None else None
        whole = private([point for _, point, _ in table], [label for _, _, label in table], ids)
        units, judges = keep_one_record(whole, request, KEY), way.judges(whole, request)
        counts, right = (tuple(int((one.labels == code).sum()) for code in (0, 1)) for one in (units, judges))
        if (counts, right) not in known:
            assert tuple(judges.right(one) for one in ALWAYS) == right
            said, last = tried.law(np.array(counts)), alone.law(np.array(counts))
            known[counts, right] = tuple(
                said[a] * said[1 - b] * chance * (last[label] if chosen == 0 else last[1 - label])
                for a, b in product((0, 1), repeat=2)
                for chosen, chance in enumerate(best.law(np.array([right[a], right[b]])))
                for label in (0, 1)
            )
        return known[counts, right]

    return law


def world(unit: str | None) -> CellWorld:
    """Few people, or where there are none the records themselves."""
    if unit is not None:
        return CellWorld(("ann", "bob", "cid"), (0.0,), (0, 1), 3)
    return CellWorld(("nobody",), (0.0, 1.0, 2.0), (0, 1), 3)


def worst_ratio(way: Way, adjacency: Adjacency, unit: str | None) -> Fraction:
    law = law_of(way, adjacency, unit)
    laws: dict[Table, Any] = {table: law(table) for table in world(unit).tables()}
    worst, n_pairs = Fraction(1), 0
    for n, pairs in neighbours(laws, adjacency, per_record=unit is None):
        n_pairs += n
        for (one, _), (other, _) in pairs:
            worst = max(worst, *(p / q for p, q in zip(one, other, strict=True)))
    assert n_pairs > 200
    return worst


CASES: list[tuple[Adjacency, str | None]] = [
    ("add-remove", "person"),
    ("add-remove", None),
    ("replace-one", "person"),
    ("labels", "person"),
    ("labels", None),
]


@pytest.mark.parametrize(("adjacency", "unit"), CASES)
def test_methods_choice_and_winner_together_cost_one_epsilon(adjacency: Adjacency, unit: str | None) -> None:
    worst = worst_ratio(HONEST, adjacency, unit)
    assert below_exp(EPSILON / 2) < worst <= below_exp(EPSILON)


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_a_twin_that_pays_less_is_caught(twin: Way) -> None:
    assert worst_ratio(twin, "add-remove", "person") > below_exp(EPSILON)


# Shares of the budget.


@settings(max_examples=100, deadline=None)
@given(
    epsilon=st.floats(0.01, 100),
    delta=st.floats(1e-9, 0.1) | st.just(0.0),
    methods=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=2, max_size=8),
)
def test_shares_add_up_to_the_budget(epsilon: float, delta: float, methods: list[tuple[int, bool]]) -> None:
    weights, takes_delta = zip(*methods, strict=True)
    shares = share_selection_budget(Budget(epsilon, delta), weights, takes_delta)
    parts = [*(one.epsilon for one in shares.tried), shares.choice, shares.winner.epsilon]
    assert epsilon * (1 - 1e-12) <= sum(map(Fraction, parts)) <= Fraction(epsilon)
    deltas = [*(one.delta for one in shares.tried), shares.winner.delta]
    assert delta * (1 - 1e-12) <= sum(map(Fraction, deltas)) <= Fraction(delta)
    assert [one.delta > 0 for one in shares.tried] == [takes and delta > 0 for takes in takes_delta]
    assert shares.winner.epsilon > 0.7 * epsilon
    assert all(
        one.epsilon * weights[0] == pytest.approx(shares.tried[0].epsilon * weight)
        for one, weight in zip(shares.tried, weights, strict=True)
    )


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
