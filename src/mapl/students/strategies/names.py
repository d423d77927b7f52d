"""The ways to turn released labels into a student, by name."""

from __future__ import annotations

from typing import Any, Protocol

from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.students.active.strategy import Active
from mapl.students.fitting import Learning
from mapl.students.lesson import Lesson
from mapl.students.strategies.cleaned import Cleaned
from mapl.students.strategies.imputed import Imputed
from mapl.students.strategies.plain import Plain
from mapl.students.strategies.self_training import SelfTraining
from mapl.students.strategies.voting import Voting


class Strategy(Protocol):
    """Fits a model whose ``predict`` answers with class names, from public facts alone."""

    @property
    def name(self) -> str: ...

    def fit(self, learning: Learning, lesson: Lesson) -> Any: ...


AUTO = "auto"

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (Plain(), Imputed(), SelfTraining(), Voting(), Cleaned(), Active())
}


def strategy_of(given: str | Strategy, schema: Schema | None = None) -> Strategy:
    """Return a strategy by its name, or the one that was handed over.

    "auto" cleans labels where every column is a category: rows of such tables repeat or nearly so, and what is
    alike is mostly of one class. Elsewhere it is plain. "active" says how labels come about; for labels that are
    there it is plain.
    """
    if not isinstance(given, str):
        return given
    if given == AUTO:
        categories = schema is not None and all(column.kind == "category" for column in schema.columns)
        return STRATEGIES["cleaned" if categories else "plain"]
    if given not in STRATEGIES:
        raise InvalidParameter(f"The strategy is {given!r}; choose one of {', '.join((AUTO, *STRATEGIES))}.")
    return STRATEGIES[given]
