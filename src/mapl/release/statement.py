"""The privacy statement of a run: what was released, what it cost, and on which assumptions that holds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

from mapl import __version__
from mapl.mechanisms import AnyMechanism, Task
from mapl.noise import Coins
from mapl.planning.plan import EVERYBODY, ROUNDING, plain
from mapl.release.loop import Released, distance_needed
from mapl.release.promise import TEACHER_PROMISE, Promise
from mapl.release.stated_together import TogetherStated

__all__ = ["NOT_PRIVATE", "TEACHER_PROMISE", "Promise", "StageSpend", "Statement", "statement_of", "to_json"]

SCHEMA = 3
LIMITS = ("max_abstentions", "max_answers", "max_queries", "n_queries")
"""Parameters that end a run."""

NOT_PRIVATE = "NOT PRIVATE"


@dataclass(frozen=True, slots=True)
class StageSpend:
    """What one stage of a run costs at most the units that it is about; parts of different names are disjoint."""

    name: str
    mechanism: str
    epsilon: float
    delta: float
    units: str = EVERYBODY


@dataclass(frozen=True, slots=True)
class Statement:
    """What may be printed about a run; every field is public.

    ``epsilon`` is what the published outcomes cost; ``guaranteed_epsilon`` is what the run could have cost at
    most, fixed before the first question. Both are at ``delta``, for the named adjacency and unit, and are sums
    over all ``stages``, of which those about the dearest part count where there are parts; mechanism, parameters
    and counts are those of the stage that released the labels. ``selected`` names the method whose outcome is
    published where several were tried; ``together`` says what the run promises with the earlier runs that it went
    on from, None where there are none.
    """

    mechanism: str
    parameters: dict[str, Any]
    epsilon: float
    guaranteed_epsilon: float
    budget_epsilon: float
    delta: float
    adjacency: str
    unit: str
    teachers: int
    cells: int | None
    classes: int
    queries: int
    planned_queries: int
    answered: int
    abstained: int
    halted: bool
    not_asked: int
    usage: dict[str, Any]
    required_distance_99: int | None
    noise: str
    private: bool
    assumptions: tuple[str, ...]
    in_plain_words: str
    stages: tuple[StageSpend, ...]
    plan_digest: str | None
    ledger_head: str | None
    mapl_version: str
    schema: int
    selected: str | None = None
    together: TogetherStated | None = None

    def to_json(self) -> str:
        """Return the statement as JSON text, without bare infinities."""
        return to_json(asdict(self), indent=2)


def statement_of(
    mechanism: AnyMechanism,
    task: Task,
    released: Released,
    coins: Coins,
    *,
    promise: Promise = TEACHER_PROMISE,
    earlier: tuple[StageSpend, ...] = (),
    stage: str = "labels",
    plan_digest: str | None = None,
    ledger_head: str | None = None,
) -> Statement:
    """Describe a run. Nothing is read but public facts and published outcomes.

    Parameters
    ----------
    promise
        The neighbouring data sets and the unit that are promised, and on which assumptions.
    earlier
        Stages of the same run that released something before the labels; their budgets come on top of the task's.
    plan_digest, ledger_head
        What ties the statement to the run's plan and to its record of spending.
    """
    own_epsilon = mechanism.epsilon(None, task.budget.delta)
    stages = (*earlier, StageSpend(stage, mechanism.name, own_epsilon, task.budget.delta))
    before = [spend.epsilon for spend in earlier]
    epsilon = added([*before, mechanism.epsilon(released.state, task.budget.delta)])
    guaranteed = added([*before, own_epsilon])
    delta = added(spend.delta for spend in stages)
    private = coins.private and math.isfinite(guaranteed)
    parameters = dict(mechanism.parameters)
    return Statement(
        mechanism=mechanism.name,
        parameters=parameters,
        epsilon=epsilon,
        guaranteed_epsilon=guaranteed,
        budget_epsilon=added([*before, task.budget.epsilon]),
        delta=delta,
        adjacency=promise.adjacency,
        unit=promise.unit,
        teachers=task.n_teachers,
        cells=None,
        classes=task.n_classes,
        queries=released.n_questions,
        planned_queries=task.n_queries,
        answered=released.answered,
        abstained=released.abstained,
        halted=released.halted,
        not_asked=released.not_asked,
        usage={
            "answered": released.state.answered,
            "abstained": released.state.abstained,
            "fallback": 0 if released.fallback is None else int(released.fallback.sum()),
            "limits": {name: parameters[name] for name in LIMITS if name in parameters},
        },
        required_distance_99=distance_needed(mechanism, task),
        noise=noise_of(coins, guaranteed),
        private=private,
        assumptions=promise.assumptions,
        in_plain_words=in_plain_words(VOTE, promise, stages, delta, guaranteed, epsilon)
        if private
        else not_private(coins),
        stages=stages,
        plan_digest=plan_digest,
        ledger_head=ledger_head,
        mapl_version=__version__,
        schema=SCHEMA,
    )


def added(parts: Iterable[float]) -> float:
    """Add costs up; where the sum is no floating-point number, the next larger one is said."""
    given = list(parts)
    total = math.fsum(given)
    if math.isfinite(total) and Fraction(total) < sum(map(Fraction, given)):
        return math.nextafter(total, math.inf)
    return total


def at_most(value: float, digits: int = 4) -> str:
    """Write a promised bound in a few digits, rounded up: a smaller number would promise too much.

    Examples
    --------
    >>> at_most(1.10049), at_most(1.0), at_most(3.0042, 3)
    ('1.101', '1', '3.01')
    """
    if not math.isfinite(value):
        return str(value)
    # By its shortest spelling: the float nearest to 1e-5 is a little above it, and nobody means that.
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def to_json(value: dict[str, Any], *, indent: int | None = None) -> str:
    """Write JSON that any parser reads: infinities become text, what is not a number becomes null."""
    return json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False)


def noise_of(coins: Coins, guaranteed: float) -> str:
    """Say where the random numbers came from."""
    if not coins.private:
        return f"{NOT_PRIVATE}: seeded coins"
    if math.isinf(guaranteed):
        return f"{NOT_PRIVATE}: no noise"
    return "exact integers from the operating system's generator"


def not_private(coins: Coins) -> str:
    """Say that nothing is promised, and why."""
    why = "the plurality was released without noise" if coins.private else "the coins came from a known seed"
    return f"{NOT_PRIVATE}: {why}, so no privacy is promised. Use this result for tests only and do not publish it."


VOTE = (
    "The labels were decided by a vote of models (teachers), each trained on its own part of the private data, and "
    "by random coins."
)


def in_plain_words(
    how: str, promise: Promise, stages: tuple[StageSpend, ...], delta: float, guaranteed: float, epsilon: float
) -> str:
    """Put a promise into words that need no mathematics; `how` says how the labels came about."""
    names = ", ".join(spend.name for spend in stages[:-1])
    before = f", together with what the run released before them ({names})" if names else ""
    return (
        f"{how} Whatever anybody concludes from what was released, they would have concluded with nearly the same "
        f"probability had {promise.words}: the probability of any outcome changes by a factor of at most "
        f"{at_most(math.exp(min(guaranteed, 700)) * (1 + ROUNDING), 3)} (e to the epsilon, epsilon "
        f"{at_most(guaranteed)}), plus at most delta, {delta:g}. This limit was fixed before anything was released "
        f"and holds for all labels, abstentions and noisy counts together{before}, against anybody with "
        f"any knowledge and any computing power. It protects "
        f"{promise.unit}; the neighbouring data sets compared are those where {promise.adjacency}. Priced by the "
        f"outcomes that were actually published, the run has used epsilon {at_most(epsilon)} of it at the same "
        "delta. "
        "It does not hide what is true of the population as a whole, and it holds only under the assumptions "
        "listed beside it."
    )
