"""How much a learner's scores spread from shard to shard, measured on public rows with labels."""

from __future__ import annotations

import numpy as np

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.units.identities import Identities
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.mechanisms.scores.scores import TOP
from mapl.teachers import Learner
from mapl.teachers.engine import gather
from mapl.teachers.learners.scores import ScoreBallot
from mapl.types import Labels

TEACHERS = 16
QUESTIONS = 200
FEWEST_ROWS = 5
"""Rows per teacher below which nothing can be measured."""


def measure_spread(
    learner: Learner,
    rows: Rows,
    labels: Labels,
    per_teacher: int,
    *,
    n_jobs: int = -1,
    time_limit: float | None = None,
    seed: int = 0,
) -> float | None:
    """Return the standard deviation of teachers' scores on one question, averaged over questions; None if too few.

    Some teachers learn from disjoint parts of public labelled rows, as large as private shards will be or as large
    as there are rows for, and score other public rows. The variance found is what Efron and Stein's inequality
    bounds by half of n_0 times the on-average stability of a learner of n_0 rows, measured itself: nothing private
    is used, and public rows are assumed to resemble private ones.

    Parameters
    ----------
    per_teacher
        About how many rows a private shard has, as far as the public knows.
    """
    mixed = np.random.default_rng(seed).permutation(n_rows(rows))
    asked, learned = mixed[: min(QUESTIONS, len(mixed) // 3)], mixed[len(mixed) // 3 :]
    learned = learned[: TEACHERS * per_teacher]
    if len(learned) < TEACHERS * FEWEST_ROWS or not len(asked):
        return None
    names = Identities.gathered([[str(place).encode() for place in learned.tolist()]])
    shards = Shards(ShardKey(bytes(32)), TEACHERS)
    public = Sharded(PrivateRows(take(rows, learned)), labels[learned], names, shards)
    ballot = gather(
        ScoreBallot(len(asked), TEACHERS),
        learner,
        public,
        take(rows, asked),
        n_classes=2,
        n_jobs=n_jobs,
        time_limit=time_limit,
    )
    return float(np.sqrt((ballot.scores().marks / TOP).var(axis=1, ddof=1).mean()))
