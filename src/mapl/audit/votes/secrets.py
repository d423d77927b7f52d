"""Mechanisms with a secret: every value it can have, its probability, and when it is drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from mapl.audit.votes.altered import Altered
from mapl.audit.votes.histograms import NEVER, Law
from mapl.errors import InvalidParameter
from mapl.mechanisms.papers.sparse_vector import SparseVector
from mapl.mechanisms.tables.noise_law import masses
from mapl.mechanisms.votes.threshold_ladder import ThresholdLadder
from mapl.noise import DEVIATION
from mapl.types import Floats, Integers, Secret, State, Tallies

MOST_SECRETS = 25_000
RELIABLE = 1e6
"""A transcript is trusted to one part in this many: its probability must exceed that of all unlisted secrets so."""


@runtime_checkable
class Starts(Protocol):
    """A mechanism that lists its start states with their probabilities."""

    def starts(self) -> list[tuple[float, State]]: ...


@dataclass(frozen=True)
class Secrets:
    """The values of a secret, their probabilities, and whether an abstention draws it anew."""

    values: tuple[int, ...]
    weights: Floats
    refreshed: bool
    is_threshold: bool
    """Whether the law depends on the distance minus the secret alone, so that thresholds can be coupled."""
    unlisted: float = DEVIATION
    """The probability of all values that are not listed."""

    @property
    def least(self) -> float:
        """The smallest probability of a transcript that unlisted secrets could not have changed noticeably."""
        return max(NEVER, RELIABLE * self.unlisted)

    def average(self, law: Law, rows: Integers) -> Floats:
        """Return the law of each histogram's outcome as the first question asked."""
        block, likely = Tallies(rows), np.flatnonzero(self.weights > 1e-12)
        return sum(
            (self.weights[i] * law.chances(block, State(secret=Secret(self.values[i]))) for i in likely),
            np.zeros(1),
        )

    def laws(self, law: Law, rows: Integers) -> Floats:
        """Return the law of each histogram's outcome given each secret: (histogram, secret, outcome)."""
        block = Tallies(rows)
        given = [law.chances(block, State(secret=Secret(value))) for value in self.values]
        return np.stack(given, axis=1)


def secrets_of(law: Law) -> Secrets | None:
    """Return the secrets of a mechanism, or None if it keeps none."""
    if isinstance(law, Altered):
        return secrets_of(law.inner)
    if isinstance(law, SparseVector):
        table = law.threshold_noise
        noise = np.arange(-table.half_width, table.half_width + 1)
        return _enumerable(Secrets(tuple((law.threshold + noise).tolist()), masses(table), True, True))
    if isinstance(law, Starts):
        weights, states = zip(*law.starts(), strict=True)
        values = tuple(s.secret.value for s in states if s.secret is not None)
        # Noise falls off ever faster: what is beyond the ends is less than as much again at the ends' height.
        beyond = max(weights[0], weights[-1]) * len(weights)
        thresholds = isinstance(law, ThresholdLadder)
        return _enumerable(Secrets(values, np.array(weights), False, thresholds, max(beyond, DEVIATION)))
    return None


def _enumerable(secrets: Secrets) -> Secrets:
    if len(secrets.values) > MOST_SECRETS:
        raise InvalidParameter(
            f"The secret has {len(secrets.values):,} values; an audit takes at most {MOST_SECRETS:,}. Audit a "
            "larger epsilon or fewer abstentions."
        )
    return secrets
