"""Options about the budget and what it protects that verbs share: the same word means the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from mapl.cli.console import warn
from mapl.cli.dialect.panels import BUDGET, option
from mapl.cli.options.unit import HELP as UNIT_HELP
from mapl.planning.budgets.large_delta import refuse_large

LARGE_DELTA = 1e-3


class Adjacency(StrEnum):
    """Which tables are compared."""

    add_remove = "add-remove"
    replace_one = "replace-one"
    labels = "labels"


class Neighbours(StrEnum):
    """Which tables are compared where whole records are protected."""

    add_remove = "add-remove"
    replace_one = "replace-one"


Epsilon = Annotated[float, option(BUDGET, "Privacy budget, usually between 0.1 and 10.")]
Delta = Annotated[float, option(BUDGET, "Failure probability, well below one over the number of people.")]
Unit = Annotated[str | None, option(BUDGET, UNIT_HELP)]
Compared = Annotated[
    Adjacency,
    option(BUDGET, "Which tables are compared; labels: the features are public, only labels are protected."),
]


def check_delta(delta: float) -> None:
    """Refuse a delta that promises nothing, before any file is read; say how many go unprotected below that."""
    refuse_large(delta)
    if LARGE_DELTA <= delta < 1:
        warn(f"delta {delta:g} lets about one unit in {1 / delta:.0f} go unprotected; 1e-5 is usual.")
