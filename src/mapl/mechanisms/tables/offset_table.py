"""The table that a link decides by: exact chances by the lead of one class over the other, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from mapl.errors import GuaranteeBroken, InvalidData
from mapl.noise import ONE
from mapl.types import Floats, Tallies


@dataclass(frozen=True, slots=True)
class LinkDesign:
    """What fixes a link before rounding: the order and the divergence allowed between neighbouring leads."""

    order: float
    divergence: float


@dataclass(frozen=True, slots=True, eq=False)
class OffsetTable:
    """Exact chances of the less likely label by offset from the tie; the last one is held beyond the end.

    Entry i stands for a lead of 2i votes when K is even and of 2i + 1 votes when K is odd. The more likely
    label has the rest of ONE, so both labels are treated alike, exactly.
    """

    losing: NDArray[np.int64]
    odd: bool

    def at(self, leads: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numerator of the less likely label for each lead, of either sign."""
        return self.losing.take(np.abs(leads) // 2, mode="clip")

    def leads(self, block: Tallies) -> NDArray[np.int64]:
        """Return how many votes class 1 is ahead of class 0, refusing votes this table does not cover."""
        if block.n_classes != 2:
            raise InvalidData(f"The votes have {block.n_classes} classes; a table of offsets needs exactly 2.")
        ahead = block.counts[:, 1].astype(np.int64) - block.counts[:, 0].astype(np.int64)
        if (ahead % 2 != self.odd).any():
            raise GuaranteeBroken(
                f"The table was built for an {'odd' if self.odd else 'even'} number of teachers and the votes "
                "have another parity; calibrate again with the votes' number of teachers."
            )
        return ahead

    def errors(self) -> Floats:
        """Return the chances of the less likely label as floats, for forecasts."""
        return self.losing / float(ONE)

    def index_for(self, probability: float) -> int | None:
        """Return the first entry whose more likely label has at least this probability, if there is one."""
        reached = self.errors() <= 1 - probability
        return int(np.argmax(reached)) if reached.any() else None

    def certified(self, claim: LinkDesign) -> bool:
        """Verify from the integers, at 160 bits, that neighbouring leads diverge by no more than claimed."""
        numerators = self.losing.tolist()
        if not all(0 < x <= ONE // 2 for x in numerators) or not (self.odd or numerators[0] == ONE // 2):
            return False
        with ctx.workprec(160):
            a = arb(claim.order)
            most = ((a - 1) * arb(claim.divergence)).exp()
            laws = [(arb(fmpq(x, ONE)).log(), arb(fmpq(ONE - x, ONE)).log()) for x in numerators]
            steps = list(pairwise(laws))
            if self.odd:  # one vote turns a lead of 1 into a lead of -1: the same coin with its sides swapped
                steps.append((laws[0], laws[0][::-1]))
            return all(
                bool((a * x + (1 - a) * z).exp() + (a * x_rest + (1 - a) * z_rest).exp() <= most)
                for near, far in steps
                for (x, x_rest), (z, z_rest) in ((near, far), (far, near))
            )

    def worst(self, order: float) -> float:
        """Return an upper bound on the divergence between neighbouring leads at any order."""
        near, far = self.losing[:-1], self.losing[1:]
        if self.odd:
            near, far = np.append(near, self.losing[0]), np.append(far, ONE - self.losing[0])
        if not near.size:
            return 0.0
        return max(float(bernoulli_divergence(p, q, order).max()) for p, q in ((near, far), (far, near)))

    def __len__(self) -> int:
        return len(self.losing)


def two_sided(table: OffsetTable, block: Tallies) -> Floats:
    """Lay out the law of a table's answers: class 0, class 1, and abstaining, which never happens."""
    leads = table.leads(block)
    losing = table.at(leads) / ONE
    first = np.where(leads > 0, losing, 1 - losing)
    return np.column_stack([first, 1 - first, np.zeros_like(first)])


def bernoulli_divergence(p: NDArray[np.int64], q: NDArray[np.int64], order: float) -> Floats:
    """Return upper bounds on the Renyi divergence of coins given by numerators over ONE.

    Logarithms of ratios come from exact integer differences, so every term is right to a few parts in
    10^15 times its exponent; the added allowance is a hundred times that.
    """
    excess, allowance, largest = np.zeros(len(p)), np.zeros(len(p)), np.zeros(len(p))
    for mine, theirs in ((p, q), (ONE - p, ONE - q)):
        more = mine - theirs
        ratio = np.log1p(np.maximum(more, 0) / theirs) - np.log1p(np.maximum(-more, 0) / mine)
        exponent = (order - 1) * ratio
        term = mine / ONE * np.expm1(np.minimum(exponent, 600))
        excess += term
        allowance += 1e-13 * (1 + np.abs(exponent)) * np.abs(term)
        largest = np.maximum(largest, ratio)
    curve = np.where((order - 1) * largest < 600, np.log1p(excess + allowance) / (order - 1), math.inf)
    # No order's divergence exceeds the largest log-ratio.
    return np.asarray(np.minimum(curve, largest) * (1 + 1e-12))
