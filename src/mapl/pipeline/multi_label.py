"""Several labels of the same rows: every label is a stage of one plan, all of them share one budget."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.rows import Rows, n_rows, take
from mapl.data.shards import Sharded, ShardKey, Shards
from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.noise import Coins
from mapl.pipeline.label import Effort, Workplace, identities, order, shards, voted
from mapl.pipeline.request import Adjacency, Request, calibrated
from mapl.planning import Agreement
from mapl.planning.expectation import asked_by
from mapl.planning.plan import Plan, Stage
from mapl.planning.shared_budget import Shared, proportions, share_budget
from mapl.planning.teachers_rule import teachers_for
from mapl.release import Limits, Released, Statement, aggregate, statement_of
from mapl.release.loop import admit
from mapl.release.promise import promise_of
from mapl.release.statement import StageSpend, in_plain_words
from mapl.teachers import Learner
from mapl.teachers.label_by_label import LabelByLabel, repeated
from mapl.types import ABSTAIN, Budget, Labels, Tallies

TOGETHER = "together with all other labels of the plan"
"""How the mechanism of a stage was priced, as its parameters say."""

ALL = "all labels together"
"""What a statement calls the only thing that it has a price of."""

HOW = (
    "The labels of {n} kinds ({names}) were decided by votes of models (teachers), each trained once on its own "
    "part of the private data, and by random coins."
)


@dataclass(frozen=True, slots=True)
class PlannedLabels:
    """A plan with a stage for every label, and the mechanisms that were calibrated together."""

    request: Request
    plan: Plan
    labels: tuple[str, ...]
    parts: tuple[float, ...]
    tasks: tuple[Task, ...]
    shared: Shared


@dataclass(frozen=True, slots=True)
class LabelledAll:
    """Public rows with the labels released for them, one column per label; everything here is public."""

    released: tuple[Released, ...]
    asked: NDArray[np.int64]
    n_questions: int
    statement: Statement

    @property
    def labels(self) -> Labels:
        """For every public row and label a class number, ABSTAIN where there is none."""
        spread = np.full((self.n_questions, len(self.released)), ABSTAIN, dtype=np.int32)
        for j, one in enumerate(self.released):
            spread[self.asked[: len(one.labels)], j] = one.labels
        return spread


def planned_labels(
    request: Request, labels: Sequence[str], n_questions: int, *, weights: Sequence[float] | None = None
) -> PlannedLabels:
    """Fix everything before a private row is read; the budget is split over the labels by public weights.

    Parameters
    ----------
    labels
        The names of the labels, which all have the classes of the request.
    weights
        How much each label may cost, relative to the others; alike if None.
    """
    names = tuple(labels)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("There is no label, or two of one name; name each label once.")
    if weights is not None and len(weights) != len(names):
        raise InvalidParameter(f"There are {len(names)} labels and {len(weights)} weights; give one for each.")
    if request.error_share:
        raise InvalidParameter("An error estimate is for runs with one label; leave error_share away.")
    parts = proportions([1.0] * len(names) if weights is None else list(weights))
    usual = Budget(request.budget.epsilon / math.sqrt(len(names)), request.budget.delta / len(names))
    n_teachers, why = request.n_teachers, "as asked"
    if n_teachers is None:
        n_teachers, why = teachers_for(request.n_rows, usual, spectral=request.spectral)
    first = Task(usual, n_teachers, len(request.classes), request.asked(n_questions))
    choice, _ = calibrated(request, first, request.agreement or Agreement.default())
    task = replace(first, n_queries=asked_by(choice.mechanism, first.n_queries))
    settings = _settings(choice.mechanism)
    shared = share_budget(
        request.budget, parts, lambda j, own: make(choice.mechanism.name, replace(task, budget=own), **settings)
    )
    tasks = tuple(replace(task, budget=own) for own in shared.alone)
    promise = promise_of(request.adjacency, request.unit)
    for one, its in zip(shared.mechanisms, tasks, strict=True):
        admit(one, its, promise=promise)
    stages = tuple(
        Stage(name, one.name, {**one.parameters, "priced": TOGETHER}, budget)
        for name, one, budget in zip(names, shared.mechanisms, _shares(request.budget, parts), strict=True)
    )
    plan = Plan(
        classes=request.classes.names,
        n_teachers=n_teachers,
        adjacency=request.adjacency,
        unit=request.unit_name,
        n_queries=task.n_queries,
        budget=request.budget,
        stages=stages,
        why=f"{len(names)} labels priced together; {n_teachers} teachers {why}; {choice.why}",
    )
    return PlannedLabels(request, plan, names, parts, tasks, shared)


def shards_of_labels(table: PrivateTable, key: ShardKey, n_teachers: int, adjacency: Adjacency) -> Sharded:
    """Assign every row to its teacher; the labels of a row are one of its properties, as a single label is."""
    own = [hashlib.blake2b(row.tobytes(), digest_size=4).digest() for row in table.labels.astype("<i4")]
    folded = replace(table, labels=np.frombuffer(b"".join(own), dtype="<i4").astype(np.int32))
    shards(folded, key, n_teachers, adjacency)  # refuses too many teachers, and a unit that is in two shards
    return Sharded(table.rows, table.labels, identities(folded, adjacency), Shards(key, n_teachers))


def label_all(
    sharded: Sharded,
    questions: Rows,
    planned: PlannedLabels,
    learner: Learner,
    place: Workplace,
    *,
    coins: Coins,
    effort: Effort | None = None,
) -> LabelledAll:
    """Train every teacher once on all labels, and release the votes on each label in a stage of its own.

    Called again with the same arguments after a crash, it goes on, as `label` does.

    Notes
    -----
    *Guarantee.* The plan's budget for all labels together, for the adjacency and unit in the statement. Proof:
    docs/proofs/multi-label.md.
    """
    plan = planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    asked = order(n_rows(questions))[: plan.n_queries]
    n_labels, n_asked = len(planned.labels), len(asked)
    ballot = voted(
        sharded,
        repeated(take(questions, asked), n_labels),
        LabelByLabel(learner, n_labels),
        place,
        len(plan.classes),
        Effort() if effort is None else effort,
    )
    counts = ballot.tallies().counts
    released = tuple(
        aggregate(Tallies(counts[j * n_asked : (j + 1) * n_asked]), one, coins, ledger=place.ledger, stage=name)
        for j, (name, one) in enumerate(zip(planned.labels, planned.shared.mechanisms, strict=True))
    )
    said = _statement(planned, released, coins, place.ledger.head)
    return LabelledAll(released, asked, n_rows(questions), said)


def _settings(mechanism: AnyMechanism) -> dict[str, Any]:
    """Return the settings that fix a mechanism's limits; its design order is left free for the budget found."""
    parameters = mechanism.parameters
    return {s: parameters[s] for s in entry(mechanism.name).settings if s in parameters and s != "order"}


def _shares(budget: Budget, parts: Sequence[float]) -> list[Budget]:
    """Return each label's share of the budget, rounded down so that they add up to no more."""
    epsilons = [part * budget.epsilon for part in parts]
    while sum(map(Fraction, epsilons)) > Fraction(budget.epsilon):
        epsilons = [math.nextafter(one, 0) for one in epsilons]
    delta = budget.delta / len(parts)
    while len(parts) * Fraction(delta) > Fraction(budget.delta):
        delta = math.nextafter(delta, 0)
    return [Budget(one, delta) for one in epsilons]


def _statement(planned: PlannedLabels, released: tuple[Released, ...], coins: Coins, head: str) -> Statement:
    """Describe all labels together: what they cost is the price of the sum of their losses."""
    budget, promise = planned.request.budget, promise_of(planned.request.adjacency, planned.request.unit)
    guaranteed = planned.shared.epsilon(None, budget.delta)
    spent = planned.shared.epsilon([one.state for one in released], budget.delta)
    # One entry: a label alone costs more than its share of what all of them cost together.
    stages = (StageSpend(ALL, planned.shared.mechanisms[0].name, guaranteed, budget.delta),)
    first = statement_of(
        planned.shared.mechanisms[0],
        planned.tasks[0],
        released[0],
        coins,
        promise=promise,
        plan_digest=planned.plan.digest,
        ledger_head=head,
    )
    how = HOW.format(n=len(planned.labels), names=", ".join(planned.labels))
    usage = {name: sum(getattr(one, name) for one in released) for name in ("answered", "abstained")}
    fallback = sum(0 if one.fallback is None else int(one.fallback.sum()) for one in released)
    return replace(
        first,
        epsilon=spent,
        guaranteed_epsilon=guaranteed,
        budget_epsilon=float(budget.epsilon),
        delta=budget.delta,
        queries=sum(one.n_questions for one in released),
        planned_queries=sum(task.n_queries for task in planned.tasks),
        answered=usage["answered"],
        abstained=usage["abstained"],
        halted=any(one.halted for one in released),
        not_asked=sum(one.not_asked for one in released),
        usage={**first.usage, **usage, "fallback": fallback},
        in_plain_words=in_plain_words(how, promise, (), budget.delta, guaranteed, spent)
        if first.private
        else first.in_plain_words,
        stages=stages,
    )
