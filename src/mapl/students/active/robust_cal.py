"""RobustCAL: ask about rows on which classifiers still in play differ, and infer the others (LZCW21 Algorithm 7).

The version space is never stored. A row is in dispute if the best classifier that calls it otherwise makes hardly
more mistakes than the best one (Dasgupta, Hsu and Monteleoni 2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mapl.errors import InvalidParameter
from mapl.students.active.erm import Contest, Erm
from mapl.students.active.inquiry import Inquiry
from mapl.students.active.pool import Pool
from mapl.types import ABSTAIN, Flags, Floats

GROWTH = 8
"""The best classifier is found again whenever the rows seen have grown by one in so many."""


@dataclass(frozen=True, slots=True)
class RobustCal:
    """Algorithm 7 with an ERM oracle.

    Parameters
    ----------
    constant
        c1 of the threshold b^2 + b (sqrt(err) + sqrt(err')), b^2 = c1 (d ln t + ln(t/gamma))/t. The theory's is
        larger; between 0.01 and 0.1 works in practice, and a smaller one asks less.
    gamma
        The chance of losing the best classifier on the way that the theory's constant would allow.
    """

    erm: Erm
    constant: float = 0.01
    gamma: float = 0.05

    def __post_init__(self) -> None:
        if not (self.constant > 0 and math.isfinite(self.constant)) or not 0 < self.gamma < 1:
            raise InvalidParameter(
                f"constant is {self.constant:g} and gamma {self.gamma:g}; allowed are a constant above 0 and a "
                "gamma between 0 and 1."
            )

    def in_dispute(self, contest: Contest, n_seen: int) -> Flags:
        """Say which rows some classifier still in play calls otherwise, after so many rows."""
        t = max(2, n_seen)
        b = math.sqrt(self.constant * (self.erm.dimension * math.log(t) + math.log(t / self.gamma)) / t)
        otherwise: Floats = contest.otherwise
        allowed = b * b + b * (math.sqrt(contest.error) + np.sqrt(np.where(np.isinf(otherwise), 0, otherwise)))
        return np.asarray(otherwise - contest.error <= allowed)

    def __call__(self, pool: Pool, limit: int) -> Inquiry:
        """Go through the pool in a random order that is fixed by its seed, and ask at most `limit` times.

        Rows that are not in dispute are labelled by the best classifier, for free; so is what comes after the last
        question. Known labels count as asked.
        """
        if pool.n_classes != 2:
            raise InvalidParameter(
                f"There are {pool.n_classes} classes; robust-cal is for two, as the paper's theory of it is. "
                "Ask by margin or committee instead."
            )
        codes = pool.known.copy()
        order = np.random.default_rng(pool.seed).permutation(len(pool)).astype(np.int64)
        known = order[codes[order] != ABSTAIN]
        stream = order[codes[order] == ABSTAIN]
        seen, left, t = known, limit, 0
        while t < len(stream):
            block = stream[t : t + max(1, len(seen) // GROWTH)]
            contest = self.erm.contest(pool.rows[seen], codes[seen], pool.rows[block])
            disputed = self.in_dispute(contest, len(seen))
            codes[block] = contest.calls
            asked = block[disputed][:left]
            if len(asked):
                codes[block[disputed]] = ABSTAIN  # until it is answered
                labels = yield asked
                codes[asked[: len(labels)]] = labels
                left = left - len(labels) if len(labels) == len(asked) else 0
            seen = np.concatenate([seen, block[codes[block] != ABSTAIN]])
            t += len(block)
            if not left:
                break
        rest = np.flatnonzero(codes == ABSTAIN)
        if len(seen) and len(rest):
            codes[rest] = self.erm.contest(pool.rows[seen], codes[seen], pool.rows[rest]).calls
        return codes
