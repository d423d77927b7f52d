"""What is spent and what is left, in figures that may be printed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mapl.planning.plan import plain
from mapl.release.ledger.limits import Limit
from mapl.types import State

if TYPE_CHECKING:
    from mapl.pipeline.online.run import OnlineRun


@dataclass(frozen=True, slots=True)
class Spending:
    """The public counters of a run beside their limits."""

    answered: int
    abstained: int
    most_answered: int
    most_abstained: int
    most_questions: int
    halted: bool

    @property
    def questions_left(self) -> int:
        """How many new questions may still be asked; none after the mechanism has halted."""
        return 0 if self.halted else max(0, self.most_questions - self.answered - self.abstained)

    @property
    def ended(self) -> bool:
        return self.questions_left == 0


class BudgetPrices:
    """Prices what a run has published so far."""

    def __init__(self, run: OnlineRun) -> None:
        self._run = run
        self._limit = Limit.of(run.mechanism.parameters, run.task.n_queries)
        self._epsilon = lru_cache(maxsize=64)(self._priced)
        self._whole = run.mechanism.epsilon(None, run.task.budget.delta)

    def spending(self, state: State) -> Spending:
        """Lay counters beside their limits."""
        limit, questions = self._limit, self._run.task.n_queries
        return Spending(state.answered, state.abstained, limit.answered, limit.abstained, questions, state.halted)

    def told(self, state: State) -> dict[str, Any]:
        """Return everything that may be said about the budget; computing an epsilon may take a moment."""
        spending, run = self.spending(state), self._run
        told = {
            "epsilon": self._epsilon(state.answered, state.abstained, state.halted),
            "guaranteed_epsilon": self._whole,
            "budget_epsilon": run.task.budget.epsilon,
            "delta": run.task.budget.delta,
            "adjacency": run.promise.adjacency,
            "unit": run.promise.unit,
            "answered": spending.answered,
            "abstained": spending.abstained,
            "most_answered": spending.most_answered,
            "most_abstained": spending.most_abstained,
            "most_questions": spending.most_questions,
            "questions_left": spending.questions_left,
            "halted": spending.halted,
        }
        written: dict[str, Any] = plain(told)
        return written

    def _priced(self, answered: int, abstained: int, halted: bool) -> float:
        state = State(answered, abstained, halted)
        return float(self._run.mechanism.epsilon(state, self._run.task.budget.delta))
