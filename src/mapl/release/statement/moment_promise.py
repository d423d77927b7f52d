"""What is promised to whom by a run that releases sums: the same words as ever, on other assumptions."""

from __future__ import annotations

from dataclasses import replace

from mapl.data.tables.number_range import NumberRange
from mapl.release.statement.promise import (
    NOT_COVERED,
    Promise,
    assume_chosen_without_looking,
    assume_kept_private,
    assume_one_person,
    promise_of,
)
from mapl.types import Adjacency

CHECKED_SUMS = (
    "The vector of a row follows from public rows, from the declared columns or from what the run "
    "had released before, and from that row alone.",
    "Every number of every sum got noise, and nothing but the noisy sums was taken from the private records.",
    "Rounds, noise and limits were fixed in the plan, and every round was on disk before it left the run.",
)

FOR_THE_USER_OF_SUMS = (
    assume_chosen_without_looking("the student and its settings, "),
    assume_kept_private("keys, sums, ledger"),
    *NOT_COVERED,
)

PUBLIC_FACTS = {
    "replace-one": "The values of {unit}, that is who is in the table, may be known to anybody.",
    "labels": "Every feature of every row may be known to anybody, and no feature was made from labels.",
}


RANGE = (
    "For you to see to: the range of the label, {known}, was declared without looking at the private labels. "
    "Labels beyond it counted as its ends, and records whose label is no number were left out."
)


ONE_ROUND = (
    "Rounds are about different units: which one a {whose} had a part in follows from {what} by a keyed hash."
)
"""What is checked beside all else where every unit adds to one round only."""


def moments_promise(
    adjacency: Adjacency, unit: str | None, number_range: NumberRange | None = None, *, apart: bool = False
) -> Promise:
    """Return the promise of a run that releases sums of what units contribute.

    Parameters
    ----------
    number_range
        Where labels go from and to, if they are numbers.
    apart
        Whether every unit added to one round only.
    """
    added = (
        "Every record added one vector, cut to a fixed length"
        if unit is None
        else f"Every {unit} added the mean of the vectors of all of its records, cut to a fixed length"
    )
    known = [PUBLIC_FACTS[adjacency].format(unit=unit)] if adjacency in PUBLIC_FACTS else []
    whose, what = ("record", "its own features") if unit is None else (unit, "its id")
    parted = [ONE_ROUND.format(whose=whose, what=what)] if apart else []
    return replace(
        promise_of(adjacency, unit),
        checked=(f"{added}.", *parted, *CHECKED_SUMS),
        assumptions=(
            *known,
            *(() if number_range is None else [RANGE.format(known=number_range)]),
            assume_one_person(unit),
            *FOR_THE_USER_OF_SUMS,
        ),
    )
