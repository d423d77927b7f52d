"""How much a run may publish: whole numbers of answers and abstentions, fixed by the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mapl.errors import InvalidParameter
from mapl.planning.plan import Condition, Plan

ENDS_ANSWERS = ("max_answers", "max_queries", "max_questions", "n_queries")
"""Parameters after which a mechanism publishes no further answer."""
ENDS_ABSTENTIONS = ("epochs", "max_abstentions")
"""Parameters after which it publishes no further abstention; the first one counts."""

ONLY_IF = "only_if"
"""Where the first entry of a chain has the conditions."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many answers and abstentions a stage may publish at most."""

    answered: int
    abstained: int

    def __post_init__(self) -> None:
        for name, value in (("answered", self.answered), ("abstained", self.abstained)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                raise InvalidParameter(f"The limit {name} is {value}; it must be a whole number of at least 0.")

    @classmethod
    def of(cls, parameters: Mapping[str, Any], n_questions: int) -> Self:
        """Read a mechanism's limits off its parameters; without any, the number of questions is the limit.

        A mechanism that answers no questions but publishes a table says how many entries that has.
        """
        if "entries" in parameters:
            return cls(int(parameters["entries"]), 0)
        answers = [int(parameters[name]) for name in ENDS_ANSWERS if name in parameters]
        abstentions = [int(parameters[name]) for name in ENDS_ABSTENTIONS if name in parameters]
        return cls(min([n_questions, *answers]), min([n_questions, *abstentions[:1]]))

    def __le__(self, other: Limit) -> bool:
        return self.answered <= other.answered and self.abstained <= other.abstained


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of all stages of a plan, by name, and what some of them wait for."""

    stages: tuple[tuple[str, Limit], ...]
    conditions: tuple[tuple[str, Condition], ...] = ()

    @classmethod
    def of(cls, stages: Mapping[str, Limit], conditions: Mapping[str, Condition] | None = None) -> Self:
        """Take limits, and conditions, by the name of their stage."""
        return cls(tuple(stages.items()), tuple((conditions or {}).items()))

    @classmethod
    def told(cls, payload: Mapping[str, Any]) -> Self:
        """Read them off the public payload that a chain begins with."""
        conditions = {stage: Condition(*one) for stage, one in payload.get(ONLY_IF, {}).items()}
        return cls.of({stage: Limit(*limit) for stage, limit in payload["limits"].items()}, conditions)

    def payload(self) -> dict[str, Any]:
        """Return what a chain begins with; without conditions, it is what it was before there were any."""
        limits = {stage: [limit.answered, limit.abstained] for stage, limit in self.stages}
        waits = {stage: [one.stage, one.released] for stage, one in self.conditions}
        return {"limits": limits, **({ONLY_IF: waits} if waits else {})}

    @classmethod
    def of_plan(cls, plan: Plan) -> Self:
        """Read the limits off a plan; a parameter that an earlier release will set can only lower them later."""
        return cls.of(
            {stage.name: Limit.of(stage.parameters, plan.n_queries) for stage in plan.stages},
            {stage.name: stage.only_if for stage in plan.stages if stage.only_if is not None},
        )
