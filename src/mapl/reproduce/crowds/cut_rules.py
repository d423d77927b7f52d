"""Thresholds on one column as an exact oracle for active students, and such students of a crowd's votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mapl.mechanisms import AnyMechanism
from mapl.noise import Coins
from mapl.reproduce.crowds.teachers import VotingTeachers
from mapl.students.active.erm import Contest
from mapl.students.active.pool import Pool
from mapl.students.active.robust_cal import RobustCal
from mapl.types import ABSTAIN, Floats, Integers, Labels


@dataclass(frozen=True, slots=True)
class ThresholdRules:
    """x >= t on one column, exactly: the best threshold lies between two neighbouring values."""

    @property
    def dimension(self) -> int:
        return 1

    def contest(self, seen: Floats, labels: Labels, rows: Floats) -> Contest:
        x, asked = seen[:, 0], rows[:, 0]
        # Thresholds at every value, and above all of them; those in between make the same calls.
        cuts = np.append(np.unique(np.concatenate([x, asked])), np.inf)
        ones, zeros = np.sort(x[labels == 1]), np.sort(x[labels == 0])
        ones_below = np.searchsorted(ones, cuts)
        zeros_from = len(zeros) - np.searchsorted(zeros, cuts)
        errors = (ones_below + zeros_from) / max(1, len(x))
        best = int(errors.argmin())
        calls = (asked >= cuts[best]).astype(np.int32)
        lowest_to = np.minimum.accumulate(errors)  # the best threshold at or below a value calls it 1
        lowest_from = np.minimum.accumulate(errors[::-1])[::-1]
        place = np.searchsorted(cuts, asked)
        otherwise = np.where(calls == 1, lowest_from[place + 1], lowest_to[place])
        return Contest(calls, float(errors[best]), otherwise)


def ask_actively(
    X: Floats, crowd: VotingTeachers, mechanism: AnyMechanism, coins: Coins, limit: int
) -> tuple[Labels, Integers]:
    """Let robust-cal choose rows and be told released labels; return all labels, and the rows that it chose."""
    votes, state = crowd.votes(X), mechanism.start(coins)
    pool = Pool(X, 2, np.full(len(X), ABSTAIN, dtype=np.int32))
    inquiry = RobustCal(ThresholdRules())(pool, limit)
    chosen: list[int] = []
    try:
        rows = next(inquiry)
        while True:
            chosen += rows.tolist()
            outcome = mechanism.release(state, type(votes)(votes.counts[rows]), coins)
            state = outcome.state
            rows = inquiry.send(outcome.labels)
    except StopIteration as ended:
        labels: Labels = ended.value
        return labels, np.array(chosen, dtype=np.int64)
