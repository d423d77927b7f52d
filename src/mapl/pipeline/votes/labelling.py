"""From a private table and public questions to released labels: shards, teachers, votes, release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.identities import Identities
from mapl.data.units.shards import Sharded, ShardKey, Shards, split, unit_bytes
from mapl.engines.address import LOCAL
from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism
from mapl.noise import Coins
from mapl.parameters import spell
from mapl.pipeline.place import Workplace
from mapl.pipeline.runs.inputs import n_units
from mapl.pipeline.votes.teachers_plan import Planned, choose_by_error_rate
from mapl.release import Ledger, Limits, Released, Statement, aggregate, statement_of
from mapl.release.cell_counts import CellCounts
from mapl.release.error_estimate import estimate_error
from mapl.release.moment_sums import MomentSums
from mapl.release.statement.statement import StageSpend
from mapl.teachers import Ballot, Learner, poll
from mapl.types import ABSTAIN, Adjacency, Flags, Floats, Labels

HELD_OUT_SHARE = 0.25
"""The share of the units that an error estimate keeps from the teachers of their shards."""

ORDER_SEED = 1803
"""Public rows are asked in a fixed shuffled order, so that a run that ends early has seen rows of all kinds."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How the teachers are trained; nothing here changes what is released."""

    n_jobs: int = -1
    time_limit: float | None = None
    on_progress: Callable[[int], None] | None = None
    engine: str = LOCAL


@dataclass(frozen=True, slots=True)
class Labelled:
    """Public rows with the labels released for them; everything here is public.

    ``labels`` has an entry for every public row, ABSTAIN where there is none; ``asked`` holds the rows in the order
    they were asked in. ``numbers`` are labels that are numbers, one for every public row; the others then say in
    which half of their range they lie.
    """

    released: Released
    asked: NDArray[np.int64]
    n_questions: int
    mechanism: AnyMechanism | CellCounts | MomentSums
    why: str
    statement: Statement
    error_rate: float | None = None
    numbers: Floats | None = None

    def each_label(self, names: Sequence[str]) -> tuple[tuple[Released, str | None], ...]:
        """Return what was released of each label, with its name where there are several."""
        return ((self.released, None),)

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


def release_labels(
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
        The private table, as `assign_shards` assigned it to the plan's teachers.
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
    asked = order_questions(n_rows(questions))[: plan.n_queries]
    aside = None
    if planned.error_estimate is not None:
        aside = split(sharded.ids, sharded.shards.key, HELD_OUT_SHARE, "error estimate")
    ballot = collect_votes(
        sharded, take(questions, asked), learner, place, len(plan.classes), effort, held_out=aside
    )
    choice, rate = planned.choice, None
    earlier: tuple[StageSpend, ...] = ()
    if choice is None:
        rate = _error_rate(planned, ballot, place.ledger, coins)
        choice = choose_by_error_rate(rate, request, planned.task)
        stage = plan.stage("error")
        earlier = (StageSpend(stage.name, stage.mechanism, stage.budget.epsilon, stage.budget.delta),)
    released = aggregate(ballot.tallies(), choice.mechanism, coins, ledger=place.ledger)
    statement = statement_of(
        choice.mechanism,
        planned.task,
        released,
        coins,
        promise=planned.promise,
        earlier=earlier,
        plan_digest=plan.digest,
        ledger_head=place.ledger.head,
    ).recorded_by(place.ledger)
    why = plan.why if planned.choice is not None else f"{plan.why}; {choice.why}"
    return Labelled(released, asked, n_rows(questions), choice.mechanism, why, statement, rate)


def collect_votes(
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
        engine=effort.engine,
    )


def order_questions(n_questions: int) -> NDArray[np.int64]:
    """Return the order in which public rows are asked; it depends on their number alone."""
    return np.random.default_rng(ORDER_SEED).permutation(n_questions).astype(np.int64)


def identify_units(table: PrivateTable, adjacency: Adjacency) -> Identities:
    """Return the identity of every row's privacy unit: its id, or its own content where there is no id.

    Where only labels are private they play no part in it: a changed label must not move a row to another shard.
    """
    if table.unit_ids is not None:
        return unit_bytes(table.unit_ids)
    labels = None if adjacency == "labels" else table.labels
    return table.rows.contents(labels)


def assign_shards(table: PrivateTable, key: ShardKey, n_teachers: int, adjacency: Adjacency) -> Sharded:
    """Assign every row to its teacher, and check on identities that no unit has two.

    How many units there are is private, and no number of them is too small: a teacher without rows votes for the
    fallback class. Only where who is in the table is public may there be too many teachers for them.
    """
    refuse_too_many(table, key, n_teachers, adjacency)
    ids = identify_units(table, adjacency)
    sharded = Sharded(table.rows, table.labels, ids, Shards(key, n_teachers))
    sharded.verify()
    return sharded


def refuse_too_many(table: PrivateTable, key: ShardKey, n_teachers: int, adjacency: str) -> None:
    """Refuse more teachers than mapl numbers, or than there are units where who is in the table is public."""
    Shards(key, n_teachers)
    if adjacency != "add-remove" and n_teachers > n_units(table):
        raise InvalidParameter(
            f"There are {n_teachers} teachers and fewer privacy units than that in the private table; most "
            f"teachers would have nothing to learn from. Ask for fewer with {spell('teachers')}. Nothing was spent."
        )


def _error_rate(planned: Planned, ballot: Ballot, ledger: Ledger, coins: Coins) -> float:
    estimate = planned.error_estimate
    assert estimate is not None
    parts = np.array([estimate.part(wrong, tested) for wrong, tested in ballot.own_errors()], dtype=np.int64)
    return estimate.rate(estimate_error(estimate, parts, coins, ledger=ledger))
