"""The ways to turn released labels into a student, by name."""

from __future__ import annotations

from typing import Any, Protocol

from mapl.errors import InvalidParameter
from mapl.students.fitting import Learning
from mapl.students.imputed import Imputed
from mapl.students.lesson import Lesson
from mapl.students.plain import Plain
from mapl.students.self_training import SelfTraining
from mapl.students.voting import Voting


class Strategy(Protocol):
    """Fits a model whose ``predict`` answers with class names, from public facts alone."""

    @property
    def name(self) -> str: ...

    def fit(self, learning: Learning, lesson: Lesson) -> Any: ...


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (Plain(), Imputed(), SelfTraining(), Voting())
}


def strategy_of(given: str | Strategy) -> Strategy:
    """Return a strategy by its name, or the one that was handed over."""
    if not isinstance(given, str):
        return given
    if given not in STRATEGIES:
        raise InvalidParameter(f"The strategy is {given!r}; choose one of {', '.join(STRATEGIES)}.")
    return STRATEGIES[given]
