"""What is promised to whom by a run that counts in cells: the same words as ever, on other assumptions."""

from __future__ import annotations

from dataclasses import replace

from mapl.release.statement.promise import (
    NOT_COVERED,
    Promise,
    assume_chosen_without_looking,
    assume_kept_private,
    assume_one_person,
    promise_of,
)
from mapl.types import Adjacency

CHECKED_CELLS = (
    "The cells were fixed by public rows, or by what the run had released before, and no private "
    "row had a part in them; a row's cell depends on that row alone.",
    "All cells got noise, empty ones too, and nothing but their noisy counts was taken from them.",
    "The largest number of cells, noise and limits were fixed in the plan, and the spend was on "
    "disk before the counts left the run.",
)

FOR_THE_USER_OF_CELLS = (
    assume_chosen_without_looking("the student and its settings, "),
    assume_kept_private("keys, counts, ledger"),
    *NOT_COVERED,
)


def cells_promise(adjacency: Adjacency, unit: str | None, per_unit: str = "keyed") -> Promise:
    """Return the promise of a run that counts in cells: the same words, on other assumptions.

    Parameters
    ----------
    per_unit
        Which record of a unit counts: keyed, only, or latest:COLUMN.
    """
    public = {
        "add-remove": (),
        "replace-one": (f"The values of {unit}, that is who is in the table, may be known to anybody.",),
        "labels": ("Every feature of every row may be known to anybody, and no feature was made from labels.",),
    }
    return replace(
        promise_of(adjacency, unit),
        checked=(f"{_counted(unit, per_unit)}, in one cell.", *CHECKED_CELLS),
        assumptions=(
            *public[adjacency],
            *(_declared_single(unit) if per_unit == "only" else ()),
            assume_one_person(unit),
            *FOR_THE_USER_OF_CELLS,
        ),
    )


def _declared_single(unit: str | None) -> tuple[str, ...]:
    return (
        f"Every {unit} has one record, as you declared. The promise holds without that, and "
        "nothing here tells whether it is so.",
    )


def _counted(unit: str | None, per_unit: str) -> str:
    if unit is None:
        return "Every record was counted once"
    rule, _, column = per_unit.partition(":")
    by_lot = "a keyed hash of its own id and content"
    which = {
        "keyed": f"one record was counted, drawn by {by_lot}",
        "only": f"one record was counted, of several that differ the one drawn by {by_lot}",
        "latest": f"the record with the largest {column} was counted, of several the one drawn by {by_lot}",
    }
    return f"Of every {unit} {which[rule]}"
