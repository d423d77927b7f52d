"""Mechanisms with a secret: every value it can have, its probability, and when it is drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from mapl.audit.altered import Altered
from mapl.audit.histograms import Floats, Integers, Law
from mapl.errors import InvalidParameter
from mapl.mechanisms.noise_law import masses
from mapl.mechanisms.sparse_vector import SparseVector
from mapl.mechanisms.threshold_ladder import ThresholdLadder
from mapl.types import Secret, State, Tallies

RAREST = 1e-16
MOST_SECRETS = 12_000


@runtime_checkable
class Starts(Protocol):
    """A mechanism that lists its start states with their probabilities."""

    def starts(self) -> list[tuple[float, State]]: ...


@dataclass(frozen=True)
class Secrets:
    """The values of a secret, their probabilities, and whether an abstention draws it anew.

    Values rarer than RAREST are left out; `missing` is their probability.
    """

    values: tuple[int, ...]
    weights: Floats
    refreshed: bool
    is_threshold: bool
    """Whether the law depends on the distance minus the secret alone, so that thresholds can be coupled."""

    @property
    def missing(self) -> float:
        return max(0.0, 1 - float(self.weights.sum()))

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
        return _common(law.threshold + noise, masses(table), refreshed=True, is_threshold=True)
    if isinstance(law, Starts):
        weights, states = zip(*law.starts(), strict=True)
        values = np.array([s.secret.value for s in states if s.secret is not None])
        return _common(values, np.array(weights), refreshed=False, is_threshold=isinstance(law, ThresholdLadder))
    return None


def _common(values: Integers, weights: Floats, *, refreshed: bool, is_threshold: bool) -> Secrets:
    kept = weights > RAREST
    if kept.sum() > MOST_SECRETS:
        raise InvalidParameter(
            f"The secret has {int(kept.sum()):,} likely values; an audit takes at most {MOST_SECRETS:,}. Audit a "
            "larger epsilon or fewer abstentions."
        )
    return Secrets(tuple(values[kept].tolist()), weights[kept], refreshed, is_threshold)
