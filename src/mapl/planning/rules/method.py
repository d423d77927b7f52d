"""Moments, cells or teachers: which way suits the data at hand, from public facts alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

METHODS = ("auto", "teachers", "cells", "moments")

BOTH = "select:moments,cells"
"""Where public facts do not tell, both are tried with a little of epsilon, and private units choose."""

FULL_CELLS_WEIGHTS = (1, 3)
"""How they share what trying costs where cells are full: moments of so many records need little of it."""

FULL_CELLS = 15_000
"""From so many cells on, by the rule of cells, their student may follow boundaries that no linear model has."""

FEWEST_CELLS = 50
"""With fewer cells a student would learn from next to nothing."""

TOO_FEW = 300.0
"""Units times epsilon below which a student hardly knows more than the commonest class."""

ONE_CELL_EACH = "every record counts in one cell only and all cells share one epsilon"
"""What speaks for cells where nothing speaks against them."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What everybody may know about a run before it begins.

    ``kinds`` are the kinds of its columns, ``n_cells`` is what the budget would buy, ``n_units`` the declared
    number of units, None where nothing was declared. ``wants_teachers`` and ``wants_cells`` name what was asked for
    that only one of them has. ``made_up`` says that there are no public rows but such as were made up of what is
    declared.
    """

    n_cells: int
    kinds: Collection[str]
    epsilon: float
    delta: float
    n_units: int | None = None
    wants_teachers: str | None = None
    wants_cells: str | None = None
    made_up: bool = False
    texts: tuple[str, ...] = ()
    """The columns of text, for whoever wonders which are meant."""


@dataclass(frozen=True, slots=True)
class ChosenWay:
    """A method and why it is taken; of several, how much of epsilon each gets, in proportion."""

    method: str
    why: str
    weights: tuple[int, ...] = ()


def method_for(facts: Facts) -> ChosenWay:
    """Return the method that public facts speak for.

    On parts of the train splits of 35 tables moments gave better students than cells or teachers nearly everywhere
    (docs/moments.md), on images beside a kernel that they teach. Cells follow boundaries that no linear model has,
    if very many records fall into each of very many cells; where that may be so, both are tried.
    """
    if facts.wants_teachers is not None:
        return ChosenWay("teachers", f"teachers, because {facts.wants_teachers} was asked for")
    if facts.wants_cells is not None:
        return ChosenWay("cells", f"cells, because {facts.wants_cells} was asked for")
    if facts.made_up:
        return ChosenWay("moments", "moments, because they do without public rows")
    if facts.delta == 0:
        if "text" in facts.kinds or facts.n_cells < FEWEST_CELLS:
            return ChosenWay(
                "teachers", "teachers, because delta is 0, which moments cannot do with, and cells would be few"
            )
        return ChosenWay("cells", "cells, because delta is 0 and they need none")
    if not {"text", "image"} & set(facts.kinds) and facts.n_cells >= FULL_CELLS:
        why = "moments and cells, because there are enough records and public rows for many full cells"
        return ChosenWay(BOTH, why, FULL_CELLS_WEIGHTS)
    return ChosenWay(
        "moments", "moments, because every record adds to all sums at once and a few rounds share one budget"
    )


def caution(facts: Facts, way: str) -> str | None:
    """Say plainly where little is to be expected, or where another way is likely to do better, None elsewhere."""
    if facts.n_units is not None and facts.n_units * facts.epsilon < TOO_FEW:
        return (
            f"About {facts.n_units} units at epsilon {facts.epsilon:g} are few: expect a student that hardly knows "
            "more than the commonest class. More people or a larger epsilon are what helps."
        )
    if "text" in facts.kinds and way in ("teachers", "cells"):
        named = f" ({', '.join(facts.texts)})" if facts.texts else ""
        return (
            f"The rows hold text{named}, and moments are likely to do much better than {way}. In our benchmark of "
            "short texts they were right on 78.6%, PATE's teachers on 57.1% (SST-2 at epsilon 0.5, delta 1e-5; "
            "adjacency: one record is added or removed; unit: one record)."
        )
    return None
