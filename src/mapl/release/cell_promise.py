"""What is promised to whom by a run that counts in cells: the same words as ever, on other assumptions."""

from __future__ import annotations

from dataclasses import replace

from mapl.release.promise import (
    NOT_COVERED,
    Adjacency,
    Promise,
    chosen_without_looking,
    one_person,
    promise_of,
    stays_private,
)

CHECKED_CELLS = (
    "Checked by mapl: the cells were fixed by public rows, or by what the run had released before, and no private "
    "row had a part in them; a row's cell depends on that row alone.",
    "Checked by mapl: all cells got noise, empty ones too, and nothing but their noisy counts was taken from them.",
    "Checked by mapl: the largest number of cells, noise and limits were fixed in the plan, and the spend was on "
    "disk before the counts left the run.",
)

FOR_THE_USER_OF_CELLS = (
    chosen_without_looking("the student and its settings, "),
    stays_private("keys, counts, ledger"),
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
        "replace-one": (
            f"For you to see to: the values of {unit}, that is who is in the table, may be known to anybody.",
        ),
        "labels": (
            "For you to see to: every feature of every row may be known to anybody, and no feature was made "
            "from labels.",
        ),
    }
    return replace(
        promise_of(adjacency, unit),
        assumptions=(
            f"Checked by mapl: {_counted(unit, per_unit)}, in one cell.",
            *CHECKED_CELLS,
            *public[adjacency],
            *(_declared_single(unit) if per_unit == "only" else ()),
            one_person(unit),
            *FOR_THE_USER_OF_CELLS,
        ),
    )


def _declared_single(unit: str | None) -> tuple[str, ...]:
    return (
        f"For you to see to: every {unit} has one record, as you declared. A table with differing records of one "
        f"{unit} would have been refused, so the run itself tells that there were none; that is not hidden.",
    )


def _counted(unit: str | None, per_unit: str) -> str:
    if unit is None:
        return "every record was counted once"
    rule, _, column = per_unit.partition(":")
    by_lot = "a keyed hash of its own id and content"
    which = {
        "keyed": f"one record was counted, drawn by {by_lot}",
        "only": "one record was counted",
        "latest": f"the record with the largest {column} was counted, of several the one drawn by {by_lot}",
    }
    return f"of every {unit} {which[rule]}"
