"""What a private choice among methods rests on: what each of them rests on, and what the choice adds."""

from __future__ import annotations

from collections.abc import Iterable

CHECKED_SELECTION = (
    "Checked by mapl: whether a unit was learned from or set aside to compare the methods is a keyed hash of its "
    "own identity, and no unit was both.",
    "Checked by mapl: of every unit set aside one record counted, as right or wrong, in the score of each method.",
)

FOR_THE_USER_OF_SELECTIONS = (
    "For you to see to: the student predicts every row by itself, whatever rows stand beside it, as all students "
    "that mapl has a name for do."
)


def selection_assumptions(methods: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the assumptions of a choice among methods: those of each of them, and those of the choice itself."""
    every = dict.fromkeys(words for assumptions in methods for words in assumptions)
    yours = [words for words in every if words.startswith("For you to see to")]
    checked = [words for words in every if words not in yours]
    return (*checked, *CHECKED_SELECTION, *yours, FOR_THE_USER_OF_SELECTIONS)
