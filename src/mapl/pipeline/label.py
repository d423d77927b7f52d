"""From a private table and public questions to released labels: shards, teachers, votes, release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapl.data.identities import Identities
from mapl.data.rows import Rows, digests, n_rows, take
from mapl.data.shards import Sharded, ShardKey, Shards, split, unit_bytes
from mapl.data.table import PrivateTable
from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism
from mapl.noise import Coins
from mapl.pipeline.request import Adjacency, Planned, chosen_by
from mapl.release import Ledger, Limits, Released, Statement, aggregate, statement_of
from mapl.release.cell_counts import CellCounts
from mapl.release.error_estimate import estimate_error
from mapl.release.promise import promise_of
from mapl.release.statement import StageSpend
from mapl.teachers import Ballot, Learner, poll
from mapl.types import ABSTAIN, Flags, Labels

HELD_OUT_SHARE = 0.25
"""The share of the units that an error estimate keeps from the teachers of their shards."""

ORDER_SEED = 1803
"""Public rows are asked in a fixed shuffled order, so that a run that ends early has seen rows of all kinds."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a run keeps what must outlive it: its record of spending, and the votes counted so far.

    Temporary files of teachers, which may hold shards, go to `scratch` where there is such a folder.
    """

    ledger: Ledger
    ballot: Path | None = None
    scratch: Path | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """How the teachers are trained; nothing here changes what is released."""

    n_jobs: int = -1
    time_limit: float | None = None
    on_progress: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """Public rows with the labels released for them; everything here is public.

    ``labels`` has an entry for every public row, ABSTAIN where there is none; ``asked`` holds the rows in the order
    they were asked in.
    """

    released: Released
    asked: NDArray[np.int64]
    n_questions: int
    mechanism: AnyMechanism | CellCounts
    why: str
    statement: Statement
    error_rate: float | None = None

    @property
    def labels(self) -> Labels:
        spread = np.full(self.n_questions, ABSTAIN, dtype=np.int32)
        spread[self.taken] = self.released.labels
        return spread

    @property
    def taken(self) -> NDArray[np.int64]:
        """The rows that the mechanism took before it halted, in order."""
        return self.asked[: len(self.released.labels)]

    @property
    def fallback(self) -> Flags | None:
        if self.released.fallback is None:
            return None
        spread = np.zeros(self.n_questions, dtype=np.bool_)
        spread[self.taken] = self.released.fallback
        return spread


def label(
    sharded: Sharded,
    questions: Rows,
    planned: Planned,
    learner: Learner,
    place: Workplace,
    *,
    coins: Coins,
    effort: Effort | None = None,
) -> Labelled:
    """Train a teacher on every shard, let them vote on public rows, and release what the plan allows.

    Called again with the same arguments after a crash, it goes on: teachers that have voted are not trained again,
    and what was released is only read.

    Parameters
    ----------
    sharded
        The private table, as `shards` assigned it to the plan's teachers.
    questions
        All public rows; the plan says how many of them are asked.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the returned statement. Proof:
    docs/proofs/pipeline.md.
    """
    effort = Effort() if effort is None else effort
    request, plan = planned.request, planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    asked = order(n_rows(questions))[: plan.n_queries]
    aside = None
    if planned.error_estimate is not None:
        aside = split(sharded.ids, sharded.shards.key, HELD_OUT_SHARE, "error estimate")
    ballot = voted(sharded, take(questions, asked), learner, place, len(plan.classes), effort, held_out=aside)
    choice, rate = planned.choice, None
    earlier: tuple[StageSpend, ...] = ()
    if choice is None:
        rate = _error_rate(planned, ballot, place.ledger, coins)
        choice = chosen_by(rate, request, planned.task)
        stage = plan.stage("error")
        earlier = (StageSpend(stage.name, stage.mechanism, stage.budget.epsilon, stage.budget.delta),)
    released = aggregate(ballot.tallies(), choice.mechanism, coins, ledger=place.ledger)
    statement = statement_of(
        choice.mechanism,
        planned.task,
        released,
        coins,
        promise=promise_of(request.adjacency, request.unit),
        earlier=earlier,
        plan_digest=plan.digest,
        ledger_head=place.ledger.head,
    )
    why = plan.why if planned.choice is not None else f"{plan.why}; {choice.why}"
    return Labelled(released, asked, n_rows(questions), choice.mechanism, why, statement, rate)


def voted(
    sharded: Sharded,
    questions: Rows,
    learner: Learner,
    place: Workplace,
    n_classes: int,
    effort: Effort,
    *,
    held_out: Flags | None = None,
) -> Ballot:
    """Train a teacher on every shard and let it vote on every question; those that have voted already are kept."""
    resumed = place.ballot is not None and place.ballot.exists()
    return poll(
        learner,
        sharded,
        questions,
        n_classes=n_classes,
        ballot=Ballot.load(place.ballot) if place.ballot is not None and resumed else None,
        n_jobs=effort.n_jobs,
        time_limit=effort.time_limit,
        on_progress=effort.on_progress,
        checkpoint=place.ballot,
        held_out=held_out,
        scratch=place.scratch,
    )


def order(n_questions: int) -> NDArray[np.int64]:
    """Return the order in which public rows are asked; it depends on their number alone."""
    return np.random.default_rng(ORDER_SEED).permutation(n_questions).astype(np.int64)


def identities(table: PrivateTable, adjacency: Adjacency) -> Identities:
    """Return the identity of every row's privacy unit: its id, or its own content where there is no id.

    Where only labels are private they play no part in it: a changed label must not move a row to another shard.
    """
    if table.unit_ids is not None:
        return unit_bytes(table.unit_ids)
    labels = None if adjacency == "labels" else table.labels
    return Identities.gathered(digests(table.rows, labels))


def shards(table: PrivateTable, key: ShardKey, n_teachers: int, adjacency: Adjacency) -> Sharded:
    """Assign every row to its teacher, and check on identities that no unit has two."""
    ids = identities(table, adjacency)
    if n_teachers > ids.n_units:
        raise InvalidParameter(
            f"There are {n_teachers} teachers and fewer privacy units than that in the private table; most "
            "teachers would have nothing to learn from. Ask for fewer with --teachers. Nothing was spent."
        )
    sharded = Sharded(table.rows, table.labels, ids, Shards(key, n_teachers))
    sharded.verify()
    return sharded


def _error_rate(planned: Planned, ballot: Ballot, ledger: Ledger, coins: Coins) -> float:
    estimate = planned.error_estimate
    assert estimate is not None
    parts = np.array([estimate.part(wrong, tested) for wrong, tested in ballot.own_errors()], dtype=np.int64)
    return estimate.rate(estimate_error(estimate, parts, coins, ledger=ledger))
