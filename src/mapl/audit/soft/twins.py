"""Broken twins of soft labels: one well-known mistake each, which an audit has to find."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.audit.votes.altered import Altered
from mapl.mechanisms import AnyMechanism
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.mechanisms.scores.scores import TOP, Medians
from mapl.noise import Coins
from mapl.types import Distances, Floats, Integers, Outcome, State


class Leads(Medians):
    """Take the lead of the median's cell for the distance: a teacher that leaves it changes that by two."""

    @property
    def distances(self) -> Distances:
        inside = self.counts[np.arange(len(self)), self.values]
        return np.asarray(np.maximum(2 * inside - self.n_teachers - 1, 0), dtype=np.int64)


class OneSided(Medians):
    """Look for a boundary above the median only."""

    @property
    def distances(self) -> Distances:
        rows, place = np.arange(len(self)), (self.n_teachers + 1) // 2
        up_to = np.cumsum(self.counts, axis=1)[rows, self.values]
        return np.asarray(np.where(self.values < self.last, up_to - place, self.n_teachers), dtype=np.int64)


class MeasuredSums(Altered):
    """Do what the inner mechanism does with a distance that is not the exact one."""

    kind: type[Medians] = Leads

    def release(self, state: State, block: Medians, coins: Coins) -> Outcome:  # type: ignore[override]
        return self.inner.release(state, self.kind(block.counts, block.last), coins)  # type: ignore[arg-type]

    def chances(self, block: Medians, state: State) -> Floats:  # type: ignore[override]
        return self.inner.chances(self.kind(block.counts, block.last), state)  # type: ignore[arg-type]


class MeasuredAbove(MeasuredSums):
    kind = OneSided


def lead_for_distance(honest: AnyMechanism) -> MeasuredSums:
    """Return medians whose distance is the lead of their cell."""
    return MeasuredSums(honest)


def one_side_for_distance(honest: AnyMechanism) -> MeasuredSums:
    """Return medians whose distance looks at one boundary of their cell."""
    return MeasuredAbove(honest)


def half_sensitivity(honest: NoisyMean) -> NoisyMean:
    """Return means whose noise was made for parts that change by G / 2."""
    return replace(honest, sigma=honest.sigma / 2)


class Unclipped(NoisyMean):
    """Count scores in steps of the declared range without clipping them to it."""

    @property
    def most(self) -> int:
        return self.grain * self.n_teachers * TOP // (self.high - self.low)

    def parts(self, scores: Integers, dice: Integers) -> Integers:  # type: ignore[override]
        return np.asarray(((scores.astype(np.int64) - self.low) * self.grain + dice) // (self.high - self.low))


def no_clipping(honest: NoisyMean) -> Unclipped:
    """Return means of a narrow range that scores are not kept in."""
    return Unclipped(honest.sigma, honest.grain, honest.n_teachers, honest.max_answers, honest.low, honest.high)


def one_share_moves(honest: NoisyShares) -> NoisyShares:
    """Return shares whose noise was made for one sum that changes, and not for two."""
    return replace(honest, sigma=honest.sigma / math.sqrt(2))


class Unbalanced(NoisyShares):
    """Round every share by itself, so that a teacher may give all classes everything at once."""

    def parts(self, scores: NDArray[np.integer[Any]], dice: Integers) -> Integers:
        return np.asarray((np.clip(scores.astype(np.int64), 0, TOP) * self.grain + dice[..., None]) // TOP)


def no_balance(honest: NoisyShares) -> Unbalanced:
    """Return shares that are not kept from adding up to more than one."""
    return Unbalanced(honest.sigma, honest.grain, honest.n_teachers, honest.max_answers, n_shares=honest.n_shares)


@dataclass(frozen=True, slots=True)
class SoftTwin:
    """A mistake by name: what is wrong, and what runs then instead of an honest law."""

    summary: str
    make: Callable[[Any], Any]


MEDIAN_TWINS: dict[str, SoftTwin] = {
    "lead-for-distance": SoftTwin("the lead of the median's cell for its distance", lead_for_distance),
    "one-side": SoftTwin("a distance that looks for a boundary above the median only", one_side_for_distance),
}
MEAN_TWINS: dict[str, SoftTwin] = {
    "half-sensitivity": SoftTwin("noise for parts that change by half a range", half_sensitivity),
    "unclipped": SoftTwin("scores that are not clipped to the declared range", no_clipping),
}
SHARE_TWINS: dict[str, SoftTwin] = {
    "one-share-moves": SoftTwin("noise for one sum that changes, where two do", one_share_moves),
    "unbalanced": SoftTwin("shares that may add up to more than one", no_balance),
}
