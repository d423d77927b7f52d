"""What a private choice among methods rests on: what each of them rests on, and what the choice adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mapl.release.statement.promise import Promise

CHECKED_SELECTION = (
    "What all methods cost where they were tried, the choice and the chosen method were added up.",
    "Of every unit that chose one record counted, with bounded points, in the score of each method; whether a unit "
    "chose is a keyed hash of its own identity.",
    "The ledger began the stages of the chosen method only, and refuses those of any other.",
)

FOR_THE_USER_OF_SELECTIONS = (
    "The student predicts every row by itself, whatever rows stand beside it, as all students "
    "that mapl has a name for do."
)


def selection_promise(methods: Iterable[Promise]) -> Promise:
    """Return the promise of a choice among methods, on the assumptions of each of them and of the choice itself."""
    every = tuple(methods)
    checked = dict.fromkeys(words for one in every for words in one.checked)
    assumptions = dict.fromkeys(words for one in every for words in one.assumptions)
    return replace(
        every[0],
        checked=(*checked, *CHECKED_SELECTION),
        assumptions=(*assumptions, FOR_THE_USER_OF_SELECTIONS),
    )
