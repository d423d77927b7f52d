"""The privacy statement of a run: what was released, what it cost, and on which assumptions that holds."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from mapl import __version__
from mapl.mechanisms import AnyMechanism, Task
from mapl.noise import Coins
from mapl.release.loop import Released, distance_needed
from mapl.types import ADJACENCY, UNIT

SCHEMA = 1
LIMITS = ("max_abstentions", "max_answers", "max_queries", "n_queries")
"""Parameters that end a run."""

NOT_PRIVATE = "NOT PRIVATE"

ASSUMPTIONS = (
    "Every person's records went to exactly one teacher: the teachers' training sets are disjoint shards, and "
    "which shard a person belongs to does not depend on other people.",
    "Nothing was fitted on pooled private rows: scaling, encoding, feature selection and tuning happened inside "
    "each teacher's own shard, or on public data.",
    "Every teacher voted exactly once on every question.",
    "The votes file itself, and anything else computed from it, stays private.",
    "The mechanism and its settings were chosen from public facts, not tuned on these votes.",
    "Releasing the same votes again, or other votes of teachers trained on the same people, spends again: "
    "the guaranteed epsilons and the deltas of all releases add up.",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What may be printed about a run; every field is public.

    ``epsilon`` is what the published outcomes cost; ``guaranteed_epsilon`` is what the run could have cost at
    most, fixed before the first question. Both are at ``delta``, for the named adjacency and unit.
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
    mapl_version: str
    schema: int

    def to_json(self) -> str:
        """Return the statement as JSON text, without bare infinities."""
        return to_json(asdict(self), indent=2)


def statement_of(mechanism: AnyMechanism, task: Task, released: Released, coins: Coins) -> Statement:
    """Describe a run. Nothing is read but public facts and published outcomes."""
    epsilon = mechanism.epsilon(released.state, task.budget.delta)
    guaranteed = mechanism.epsilon(None, task.budget.delta)
    private = coins.private and math.isfinite(guaranteed)
    parameters = dict(mechanism.parameters)
    return Statement(
        mechanism=mechanism.name,
        parameters=parameters,
        epsilon=epsilon,
        guaranteed_epsilon=guaranteed,
        budget_epsilon=task.budget.epsilon,
        delta=task.budget.delta,
        adjacency=ADJACENCY,
        unit=UNIT,
        teachers=task.n_teachers,
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
        noise=_noise(coins, guaranteed),
        private=private,
        assumptions=ASSUMPTIONS,
        in_plain_words=_in_plain_words(task, guaranteed, epsilon) if private else _warning(coins),
        mapl_version=__version__,
        schema=SCHEMA,
    )


def to_json(value: dict[str, Any], *, indent: int | None = None) -> str:
    """Write JSON that any parser reads: infinities become text, what is not a number becomes null."""
    return json.dumps(_plain(value), indent=indent, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):  # a numpy scalar
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _noise(coins: Coins, guaranteed: float) -> str:
    if not coins.private:
        return f"{NOT_PRIVATE}: seeded coins"
    if math.isinf(guaranteed):
        return f"{NOT_PRIVATE}: no noise"
    return "exact integers from the operating system's generator"


def _warning(coins: Coins) -> str:
    why = "the plurality was released without noise" if coins.private else "the coins came from a known seed"
    return f"{NOT_PRIVATE}: {why}, so no privacy is promised. Use this result for tests only and do not publish it."


def _in_plain_words(task: Task, guaranteed: float, epsilon: float) -> str:
    return (
        "The labels were decided by a vote of models (teachers), each trained on its own part of the private data, "
        "and by random coins. Whatever anybody concludes from the released labels, they would have concluded with "
        "nearly the same probability had one teacher been trained on entirely different records: the probability "
        f"of any outcome changes by a factor of at most {math.exp(min(guaranteed, 700)):.3g} (e to the epsilon, "
        f"epsilon {guaranteed:.4g}), plus at most delta, {task.budget.delta:g}. This limit was fixed before the "
        "first question and holds for all released labels and abstentions together, against anybody with any "
        "knowledge and any computing power. It protects "
        f"{UNIT}; the neighbouring data sets compared are those where {ADJACENCY}. Priced by the outcomes that "
        f"were actually published, the run has used epsilon {epsilon:.4g} of it at the same delta. It does not "
        "hide what is true of the population as a whole, and it holds only under the assumptions listed beside it."
    )
