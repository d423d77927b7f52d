"""The practical inquiry: batch after batch of rows of many kinds that the labels so far leave most doubtful."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mapl.students.active.inquiry import Inquiry
from mapl.students.active.pool import Pool
from mapl.types import ABSTAIN, Floats, Integers, Labels

Doubt = Callable[[Pool, Labels, Integers], Floats]
"""Says of some rows of a pool how doubtful they are, given the labels released so far."""

ROUNDS = 10
"""Questions come in so many batches. More would fit more models; fewer would choose by older ones."""

SHORT_LIST = 10
"""Of so many times the batch, the most doubtful rows, those are asked that differ most."""


def by_batches(pool: Pool, limit: int, doubt: Doubt) -> Inquiry:
    """Ask about random rows first, then batch by batch about doubtful ones.

    Parameters
    ----------
    limit
        How many rows are asked at most.
    """
    draws = np.random.default_rng(pool.seed)
    codes = pool.known.copy()
    open_rows = draws.permutation(np.flatnonzero(codes == ABSTAIN)).astype(np.int64)
    left = min(limit, len(open_rows))
    while left:
        size = min(left, max(1, -(-limit // ROUNDS)))
        met = np.unique(codes[codes != ABSTAIN])
        if len(met) < 2:  # a model needs two classes
            rows = open_rows[:size]
        else:
            rows = _spread(pool, open_rows, doubt(pool, codes, open_rows), size, pool.seed)
        labels = yield rows
        codes[rows[: len(labels)]] = labels
        if len(labels) < len(rows):
            break
        open_rows = open_rows[~np.isin(open_rows, rows)]
        left -= len(rows)
    return codes


def _spread(pool: Pool, rows: Integers, doubts: Floats, size: int, seed: int) -> Integers:
    """Choose rows of many kinds among the most doubtful: of each cluster, the most doubtful one."""
    from sklearn.cluster import KMeans

    listed = np.argsort(-doubts, kind="stable")[: SHORT_LIST * size]
    if size >= len(listed) or size == 1:
        return rows[listed[:size]]
    distinct = np.unique(pool.rows[rows[listed]], axis=0)
    n_clusters = min(size, len(distinct))
    clusters = KMeans(n_clusters, n_init=1, max_iter=20, random_state=seed).fit_predict(pool.rows[rows[listed]])
    # The list is sorted by doubt, so a cluster's first row is its most doubtful one; then second rows, and so on.
    turn = np.zeros(len(listed), dtype=np.int64)
    for cluster in range(n_clusters):
        members = np.flatnonzero(clusters == cluster)
        turn[members] = np.arange(len(members))
    return rows[listed[np.argsort(turn, kind="stable")[:size]]]
