"""How private records were counted in cells, as the statement and the plan of a run tell it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mapl.release.cell_counts import CellCounts
from mapl.release.statement.selected_statement import name_published_stages
from mapl.report.guarantee import number

SUMMARY = "the class counts of all cells at once, with two-sided geometric noise"


@dataclass(frozen=True, slots=True)
class Counting:
    """Cells and noise of the last round, and how many rounds there were. All of it is public."""

    cells: int
    classes: int
    rounds: int
    partition: str
    """What the cells of the first round are: points, centroids or leaves; empty where no plan tells it."""
    sensitivity: int
    epsilon: float
    deviation: float
    """The standard deviation of the noise of one count."""

    @classmethod
    def of(cls, statement: Mapping[str, Any], plan: Mapping[str, Any] | None) -> Self | None:
        """Read how records were counted; None for a run of teachers."""
        if statement.get("cells") is None:
            return None
        parameters = statement.get("parameters") or {}
        mechanism = CellCounts(
            number(parameters, "epsilon"),
            int(number(statement, "cells")),
            int(number(statement, "classes")),
            int(number(parameters, "sensitivity")),
        )
        own = name_published_stages(statement)
        planned: Mapping[str, Any] = next(
            (stage for stage in (plan or {}).get("stages") or () if stage.get("name") in own), {}
        )
        return cls(
            cells=mechanism.n_cells,
            classes=mechanism.n_classes,
            rounds=max(1, len(own)),
            partition=str((planned.get("parameters") or {}).get("partition") or ""),
            sensitivity=mechanism.sensitivity,
            epsilon=mechanism.epsilon,
            deviation=mechanism.deviation,
        )

    @property
    def entries(self) -> int:
        return self.cells * self.classes

    @property
    def deviation_of_a_cell(self) -> float:
        """The standard deviation of the noise in a cell's total."""
        return self.deviation * math.sqrt(self.classes)

    @property
    def deviation_of_a_class(self) -> float:
        """The standard deviation of the noise in the sum of one class over all cells."""
        return self.deviation * math.sqrt(self.cells)
