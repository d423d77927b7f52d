"""From a table with several labels to released labels: teachers learn once, every label is a stage of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.noise import Coins
from mapl.pipeline.place import Workplace
from mapl.pipeline.votes.labelling import (
    Effort,
    Labelled,
    assign_shards,
    collect_votes,
    identify_units,
    order_questions,
)
from mapl.pipeline.votes.multi_label_plan import PlannedLabels
from mapl.release import Limits, Released, Statement, aggregate, statement_of
from mapl.release.statement.plain_words import in_plain_words
from mapl.release.statement.statement import StageSpend
from mapl.teachers import Learner
from mapl.teachers.learners.label_by_label import LabelByLabel, repeat_questions
from mapl.types import ABSTAIN, Adjacency, Labels, Tallies

ALL = "all labels together"
"""What a statement calls the only thing that it has a price of."""

HOW = (
    "The labels of {n} kinds ({names}) were decided by votes of models (teachers), each trained once on its own "
    "part of the private data, and by random coins."
)


@dataclass(frozen=True, slots=True)
class LabelledAll(Labelled):
    """Public rows with the labels released for them, one column per label; everything here is public.

    ``released`` is what was released of the first label, ``further`` of the others.
    """

    further: tuple[Released, ...] = ()

    def each_label(self, names: Sequence[str]) -> tuple[tuple[Released, str | None], ...]:
        return tuple(zip((self.released, *self.further), names, strict=True))

    @property
    def labels(self) -> Labels:
        """For every public row and label a class number, ABSTAIN where there is none."""
        each = (self.released, *self.further)
        spread = np.full((self.n_questions, len(each)), ABSTAIN, dtype=np.int32)
        for j, one in enumerate(each):
            spread[self.asked[: len(one.labels)], j] = one.labels
        return spread


def shards_of_labels(table: PrivateTable, key: ShardKey, n_teachers: int, adjacency: Adjacency) -> Sharded:
    """Assign every row to its teacher; the labels of a row are one of its properties, as a single label is."""
    own = [hashlib.blake2b(row.tobytes(), digest_size=4).digest() for row in table.labels.astype("<i4")]
    folded = replace(table, labels=np.frombuffer(b"".join(own), dtype="<i4").astype(np.int32))
    assign_shards(folded, key, n_teachers, adjacency)  # refuses a unit that is in two shards
    return Sharded(table.rows, table.labels, identify_units(folded, adjacency), Shards(key, n_teachers))


def release_all_labels(
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

    Called again with the same arguments after a crash, it goes on, as `release_labels` does.

    Notes
    -----
    *Guarantee.* The plan's budget for all labels together, for the adjacency and unit in the statement. Proof:
    docs/proofs/multi-label.md.
    """
    plan = planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    asked = order_questions(n_rows(questions))[: plan.n_queries]
    n_labels, n_asked = len(planned.labels), len(asked)
    ballot = collect_votes(
        sharded,
        repeat_questions(take(questions, asked), n_labels),
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
    said = _statement(planned, released, coins, place.ledger.head).recorded_by(place.ledger)
    mechanism, why = planned.shared.mechanisms[0], plan.why
    return LabelledAll(released[0], asked, n_rows(questions), mechanism, why, said, further=released[1:])


def _statement(planned: PlannedLabels, released: tuple[Released, ...], coins: Coins, head: str) -> Statement:
    """Describe all labels together: what they cost is the price of the sum of their losses."""
    budget, promise = planned.request.budget, planned.promise
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
