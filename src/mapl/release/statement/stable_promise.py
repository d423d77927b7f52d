"""What is promised about answers to stable queries, and on which assumptions."""

from __future__ import annotations

from mapl.release.statement.promise import NOT_COVERED, Promise, assume_one_person, promise_of
from mapl.types import Adjacency

HOW = (
    "Questions to the private data were answered exactly or not at all; random coins decided which, and answered "
    "the more likely the more units could change without changing the answer."
)

CHECKED_ANSWERS = (
    "Mechanism, settings and limits were fixed in the plan, and every spend was on record before "
    "its answer left the run.",
    "A question that was asked before was answered from the record.",
)

CONTRACT = (
    "Between any two neighbouring data sets every query's distance to instability moves by at "
    "most one, and where its values differ it is zero on both. mapl's own queries keep this contract, if the "
    "functions and models in them look at the rows they are handed and at public things only."
)

CHOSEN = (
    "The queries, the number of bags and in how many of them a unit is were chosen without "
    "looking at the private data, or by what was answered before."
)


def stable_promise(adjacency: Adjacency = "add-remove", unit: str | None = None) -> Promise:
    """Return the promise of answers to stable queries; `unit` is the column of ids, None for one record."""
    alike = promise_of(adjacency, unit)
    return Promise(
        adjacency=alike.adjacency,
        unit=alike.unit,
        checked=CHECKED_ANSWERS,
        assumptions=(CONTRACT, CHOSEN, assume_one_person(unit), *NOT_COVERED),
        words=alike.words,
        kind=alike.kind,
    )
