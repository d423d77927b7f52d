"""Soft labels: probabilities released from the teachers' scores, by their rounded median or their noisy mean."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.mechanisms.scores.scores import TOP, Medians, ScoreGrid, Scores
from mapl.noise import Coins
from mapl.release.ledger.ledger import Ledger
from mapl.release.loop import Released, aggregate
from mapl.types import ABSTAIN, Flags, Floats, Labels, State

MEDIANS, MEANS = "medians", "means"
"""The stages of a run, by their names in plan and ledger."""


@dataclass(frozen=True, slots=True)
class SoftDesign:
    """What releases soft labels: medians through a mechanism for stable answers, means with noise, or both.

    With both, means are released for the questions that the first mechanism refuses, and for no others.
    """

    medians: AnyMechanism | None = None
    grid: ScoreGrid | None = None
    means: NoisyMean | None = None

    def __post_init__(self) -> None:
        if (self.medians is None) != (self.grid is None) or (self.medians is None and self.means is None):
            raise InvalidParameter("Soft labels need a mechanism for medians with its grid, noisy means, or both.")
        if self.medians is not None and isinstance(self.means, NoisyShares):
            raise InvalidParameter("Medians are of two classes, noisy shares of more; take one of them.")


@dataclass(frozen=True, slots=True, eq=False)
class SoftLabels:
    """What was released, one entry per question in the order they were asked. All public.

    ``values`` are probabilities of the second of two classes, or rows of probabilities of more; noise takes some
    means below 0 or above 1, and they stay so, since cutting them off would bend what they say on average. They are
    nan where nothing was released. ``spreads`` are the standard deviations of noise and rounding, ``means`` marks
    the values that came as noisy means.
    """

    values: Floats
    spreads: Floats
    means: Flags
    state: State
    n_questions: int

    @property
    def answered(self) -> Flags:
        return ~np.isnan(self.values if self.values.ndim == 1 else self.values[:, 0])

    @property
    def labels(self) -> Labels:
        """The likelier class of every question, ABSTAIN where nothing was released."""
        likelier = self.values >= 0.5 if self.values.ndim == 1 else self.values.argmax(axis=1)
        return np.where(self.answered, likelier, ABSTAIN).astype(np.int32)

    def released(self) -> Released:
        """Return the hard labels that follow, for whoever wants no more: means that mend refusals are fallbacks."""
        both = self.means.any() and not self.means.all()
        return Released(self.labels, self.means if both else None, self.state, self.n_questions)


def release_soft_labels(design: SoftDesign, scores: Scores, coins: Coins, *, ledger: Ledger) -> SoftLabels:
    """Release soft labels until all questions are taken or a limit is reached.

    Every block is recorded before it is returned. With a ledger that holds part of the run already, what is there
    is read as it was published, and no question is asked twice.
    """
    if isinstance(design.means, NoisyShares):
        return _release_shares(design.means, scores, coins, ledger)
    n = len(scores)
    values, spreads, by_mean = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
    state, taken, open_ones = State(), n, np.arange(n, dtype=np.int64)
    if design.medians is not None and design.grid is not None:
        told = aggregate(Medians.of(scores, design.grid), design.medians, coins, ledger=ledger, stage=MEDIANS)
        given = np.flatnonzero(told.labels != ABSTAIN)
        values[given] = design.grid.middles(given, told.labels[given])
        spreads[given] = design.grid.width / TOP / np.sqrt(12)
        open_ones = np.flatnonzero(told.labels == ABSTAIN)
        state, taken = told.state, len(told.labels)
    if design.means is not None:
        state = State()
        if len(open_ones):
            sums = design.means.sums(scores.take(open_ones))
            told = aggregate(sums, design.means, coins, ledger=ledger, stage=MEANS)
            answered = open_ones[: len(told.labels)]
            values[answered], by_mean[answered] = design.means.read(told.labels), True
            spreads[answered] = design.means.deviation
            state = told.state
            if design.medians is None:
                taken = len(told.labels)
    return SoftLabels(values[:taken], spreads[:taken], by_mean[:taken], replace(state, secret=None), n)


def _release_shares(means: NoisyShares, scores: Scores, coins: Coins, ledger: Ledger) -> SoftLabels:
    """Release a row of means for every question; the ledger counts their numbers."""
    told = aggregate(means.sums(scores), means, coins, ledger=ledger, stage=MEANS)
    values = means.read(told.labels)
    spreads, by_mean = np.full(len(values), means.deviation), np.ones(len(values), dtype=np.bool_)
    return SoftLabels(values, spreads, by_mean, replace(told.state, secret=None), len(scores))
