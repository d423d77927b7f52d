"""Teachers or cells: which way suits the data at hand, from public facts alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Method = Literal["teachers", "cells"]

FEWEST_CELLS = 50
"""With fewer cells a student would learn from next to nothing."""

ENOUGH_TEXTS = 5_000
MANY_SWITCHES = 50
"""Columns with two values from which on a linear model that sees every record does better."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What everybody may know about a run before it begins.

    ``kinds`` are the kinds of its columns, ``n_switches`` counts those with two values, ``n_cells`` is what the
    budget would buy. ``wants_teachers`` and ``wants_cells`` name what was asked for that only one of them has.
    """

    n_public: int
    n_cells: int
    kinds: Collection[str]
    n_switches: int
    wants_teachers: str | None = None
    wants_cells: str | None = None


def method_for(facts: Facts) -> tuple[Method, str]:
    """Return the method and why.

    On every table that was tried, cells gave better students than teachers at the same epsilon; they need public
    rows that lie close to the private ones, and a notion of distance, which sparse text has not.
    """
    if facts.wants_teachers is not None:
        return "teachers", f"teachers, because {facts.wants_teachers} was asked for"
    if facts.wants_cells is not None:
        return "cells", f"cells, because {facts.wants_cells} was asked for"
    if "text" in facts.kinds:
        return "teachers", "teachers, because distances between texts mean little, which cells would need"
    if facts.n_cells < FEWEST_CELLS:
        return "teachers", f"teachers, because this budget and these public rows buy {facts.n_cells} cells only"
    return "cells", "cells, because every record counts in one cell only and all cells share one epsilon"


def better_elsewhere(facts: Facts) -> str | None:
    """Say plainly where a technique that mapl does not have is likely to do better, None elsewhere."""
    if "text" in facts.kinds and facts.n_public < ENOUGH_TEXTS:
        return (
            f"The rows hold text and there are {facts.n_public} public ones. On such data a linear model trained "
            "with DP-SGD (for example by opacus) did much better in our prototypes than voting: 77% against 59% on "
            "SST-2 at epsilon 1, delta 1e-5, add or remove one record."
        )
    if facts.n_switches >= MANY_SWITCHES:
        return (
            f"{facts.n_switches} columns have two values only. On such data a linear model trained with DP-SGD "
            "(for example by opacus) did a little better in our benchmarks: 84.9% against 84.7% on a9a at epsilon "
            "1, delta 1e-5 (cells: 0), add or remove one record."
        )
    return None
