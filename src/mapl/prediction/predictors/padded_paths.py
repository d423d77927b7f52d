"""Masses of all thresholds of a feature, for both ways to use it, as block sums that answer in a few steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats, Integers

BLOCK = 64
"""Gaps whose sum is kept; inside a block masses are summed up afresh for every question."""
LEFT = np.tri(BLOCK, k=-1) + np.eye(BLOCK) / 2
RIGHT = LEFT.T.copy()
"""Row j says what part of each gap of a block lies left, or right, of a question in gap j."""
FAINTEST = 100.0
"""Masses below e^-FAINTEST times the largest of their path count as nothing."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PaddedPaths:
    """For each feature f and label s: the rules "s if x is right of the gap, 1 - s if left", gap by gap. Private.

    A path walks past the n records in their order, so it has n + 1 gaps; errors rise by one behind a record of
    label s and fall by one behind any other. A gap has mass e^(-rate errors), and beyond both ends errors rise
    for ever. Arrays are indexed by (f, s, block).
    """

    n: int
    rate: float
    bits: NDArray[np.uint8]
    """Whether the record behind each gap has label s, packed."""
    levels: NDArray[np.int32]
    """Errors in the first gap of each block, above the fewest of the path."""
    before: Floats
    after: Floats
    """Mass of all gaps before and after each block, pads included, in units common to all paths."""
    fewest: NDArray[np.int32]
    table: Floats
    scales: Floats

    @classmethod
    def empty(cls, n: int, n_features: int, *, rate: float) -> PaddedPaths:
        """Reserve room for the paths; `lay` fills in one at a time, `finish` makes them comparable."""
        blocks = (n_features, 2, n // BLOCK + 1)
        reach = min(int(FAINTEST / rate), n) + 1
        return cls(
            n,
            rate,
            bits=np.zeros((*blocks, BLOCK // 8), dtype=np.uint8),
            levels=np.zeros(blocks, dtype=np.int32),
            before=np.zeros(blocks),
            after=np.zeros(blocks),
            fewest=np.zeros(blocks[:2], dtype=np.int32),
            table=np.append(np.exp(-rate * np.arange(reach)), 0.0),
            scales=np.ones(blocks[:2]),
        )

    def lay(self, feature: int, own: int, is_own: NDArray[np.bool_]) -> None:
        """Walk one path; `is_own` says of each record, in the path's order, whether it has the label `own`."""
        here = feature, own
        packed = self.bits[here].reshape(-1)
        packed[: -(-self.n // 8)] = np.packbits(is_own)
        errors = np.empty(self.n + 1, dtype=np.int32)
        errors[0] = self.n - np.count_nonzero(is_own)
        steps = is_own.astype(np.int8)
        steps += steps
        steps -= 1
        np.cumsum(steps, out=errors[1:], dtype=np.int32)
        errors[1:] += errors[0]
        self.fewest[here] = errors.min()
        errors -= self.fewest[here]
        self.levels[here] = errors[::BLOCK]
        masses = np.zeros((self.levels.shape[2], BLOCK))
        self.table.take(errors, mode="clip", out=masses.reshape(-1)[: self.n + 1])
        sums = masses.sum(axis=1)
        pad = 1 / math.expm1(self.rate)
        flat = masses.reshape(-1)
        self.before[here] = np.cumsum(np.append(flat[0] * pad, sums[:-1]))
        self.after[here] = np.cumsum(np.append(flat[self.n] * pad, sums[:0:-1]))[::-1]

    def finish(self) -> None:
        """Express all masses in units of the largest mass of any path."""
        behind = (self.fewest - self.fewest.min(initial=self.n)).astype(np.float64)
        self.scales[:] = np.exp(-self.rate * behind)
        self.before[:] *= self.scales[..., None]
        self.after[:] *= self.scales[..., None]

    def masses(self, gaps: Integers) -> tuple[Floats, Floats]:
        """Return the masses left and right of questions that lie in the given gaps, (question, feature, label).

        A question's own gap counts half for either side.
        """
        feature, own = np.ogrid[: self.fewest.shape[0], :2]
        block, inside = np.divmod(gaps, BLOCK)
        here = feature, own, block
        steps = np.unpackbits(self.bits[here], axis=-1).view(np.int8)
        steps += steps
        steps -= 1
        errors = np.empty(steps.shape, dtype=np.int64)
        errors[..., 0] = self.levels[here]
        errors[..., 1:] = steps[..., :-1]
        np.cumsum(errors, axis=-1, out=errors)
        masses = self.table.take(errors, mode="clip")
        if (block == self.n // BLOCK).any():  # the path ends behind gap n
            masses *= np.arange(BLOCK) <= (self.n - block * BLOCK)[..., None]
        left = np.einsum("qfsg,qfsg->qfs", masses, LEFT.take(inside, axis=0))
        right = np.einsum("qfsg,qfsg->qfs", masses, RIGHT.take(inside, axis=0))
        return left * self.scales + self.before[here], right * self.scales + self.after[here]

    def __repr__(self) -> str:
        return f"PaddedPaths({len(self.fewest)} features, private)"
