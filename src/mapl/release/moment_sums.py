"""Sums of short vectors, released in a few rounds with exact normal noise: one charge for all rounds together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import ClassVar, Literal, Self

import numpy as np

from mapl.accounting.calibration import largest_integer
from mapl.accounting.gaussian import certify_gaussian
from mapl.accounting.hockey_stick import gaussian_delta
from mapl.data.moments.contributions import ExactSums
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.mechanisms.tables.argmax_price import MOST_EPSILON, SAMPLING, usable
from mapl.noise import Coins
from mapl.noise.gaussian import DEVIATION_BITS, draw_gaussian
from mapl.release.ledger.chain import Answers
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit
from mapl.release.spend import Decision, begin, first_entry, spend
from mapl.types import Adjacency, Budget, Floats, positive_integer

CHANGES: dict[Adjacency, int] = {"add-remove": 1, "replace-one": 2, "labels": 2}
"""How many contributions of full length a changed unit moves a sum by: one that may change leaves and enters."""

FirstRound = Literal["features", "words", "products"]

TOLD_BITS = 6
"""Sums are told in 64ths of the noise's deviation; finer steps would tell nothing more."""

LARGEST = (1 << 31) - 1
"""Where a ledger's whole numbers end. Beyond it a noisy sum is cut off, which is post-processing."""

MOST_ENTRIES = 1 << 26
MOST_REACH = 1 << DEVIATION_BITS
"""So that a block of products adds up exactly; nobody needs less noise."""

FINE, MOST_MU = 1 << 24, 16
LEAST_REACH = 1 << 26
"""Steps of a residual, of which a contribution would otherwise have too few."""


@dataclass(frozen=True)
class MomentSums:
    """Add normal noise of deviation 2^40 steps to every entry of some sums, round by round.

    Parameters
    ----------
    reaches
        For every round, the largest Euclidean norm, in steps, of what one unit adds to all of its entries. What
        units add to a later round may depend on what earlier ones released.
    entries
        How many numbers each round has.
    changes
        How many contributions a changed unit moves a sum by: 1 where it is added or removed, 2 where it may change.
    first
        What the first round is about, if not features like all others: words of texts, or products of features.
    apart
        Whether every unit adds to one round only, so that rounds are about different units.

    Notes
    -----
    *Guarantee.* All rounds together are mu-Gaussian differentially private with mu^2 = sum (changes reach)^2 /
    2^80, or the largest of these where rounds are about different units, and (epsilon, delta)-differentially
    private where `certify` says so. Proof: docs/proofs/moments.md.
    """

    reaches: tuple[int, ...]
    entries: tuple[int, ...]
    changes: int = 1
    first: FirstRound = "features"
    apart: bool = False

    name: ClassVar[str] = "moment-sums"
    most_reach: ClassVar[int] = MOST_REACH

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        entries: tuple[int, ...],
        shares: tuple[float, ...] | None = None,
        changes: int = 1,
        first: FirstRound = "features",
        apart: bool = False,
    ) -> Self:
        """Return the sums with the longest contributions that pass the certificate.

        Parameters
        ----------
        shares
            How much of mu^2 each round has, in proportion; the same for all where nothing is said. Rounds that are
            about different units have all of it each.
        """
        if budget.delta == 0:
            raise InvalidParameter(
                "delta is 0; the normal noise of sums needs a positive delta, for example 1e-6. Cells need none."
            )
        usable(budget, sum(entries))
        given = (1.0,) * len(entries) if shares is None else shares
        parts = tuple(math.sqrt(1.0 if apart else share / sum(given)) / changes for share in given)
        extra = sum(entries) * SAMPLING

        def affordable(part: int) -> bool:
            return gaussian_delta(part / FINE, budget.epsilon) <= budget.delta * (1 - 1e-6) - extra

        # Found in floating point; the certificate decides.
        mu = largest_integer(affordable, most=MOST_MU * FINE) / FINE
        reaches = tuple(min(int(part * mu * (1 << DEVIATION_BITS)), cls.most_reach) for part in parts)
        if min(reaches) < LEAST_REACH:
            raise CannotCalibrate(
                f"{len(entries)} rounds of noisy sums within epsilon {budget.epsilon:g} at delta {budget.delta:g} "
                "would be noise and nothing else; raise the budget."
            )
        found = cls(reaches, entries, changes, first, apart)
        if not found.certify(budget):
            raise GuaranteeBroken("The noise did not pass its exact certificate; nothing was released.")
        return found

    def __post_init__(self) -> None:
        positive_integer(changes=self.changes, rounds=len(self.reaches))
        for reach, n_entries in zip(self.reaches, self.entries, strict=True):
            positive_integer(reach=reach, entries=n_entries)
        if sum(self.entries) > MOST_ENTRIES:
            raise InvalidParameter(
                f"{len(self.entries)} rounds of {max(self.entries)} numbers are too many; at most {MOST_ENTRIES} "
                "are released. Declare fewer columns or categories."
            )
        if max(self.reaches) > self.most_reach:
            raise GuaranteeBroken(f"A reach of {max(self.reaches)} steps is more than exact sums allow.")

    @property
    def square(self) -> Fraction:
        """mu^2 of all rounds together, exactly: somebody who adds to one of them pays for the dearest at most."""
        together = max if self.apart else sum
        return Fraction(together((self.changes * reach) ** 2 for reach in self.reaches), 1 << (2 * DEVIATION_BITS))

    def certify(self, budget: Budget) -> bool:
        """Verify the price in ball arithmetic: the exact curve of normal noise, plus what sampling costs."""
        if budget.epsilon > MOST_EPSILON:  # where SAMPLING covers less than sampling costs
            return False
        extra = SAMPLING * sum(self.entries)
        return certify_gaussian(self.square, epsilon=budget.epsilon, delta=budget.delta, extra=extra)

    @property
    def parameters(self) -> Parameters:
        return {
            "rounds": len(self.reaches),
            "first round": self.first,
            "reaches": ", ".join(map(str, self.reaches)),
            "entries": sum(self.entries),
            "entries of rounds": ", ".join(map(str, self.entries)),
            "changes": self.changes,
            "noise deviation": 1 << DEVIATION_BITS,
            # A plan whose units add to every round is written, and hashed, as it was before there were others.
            **({"rounds of a unit": 1} if self.apart else {}),
        }

    def release(self, round_number: int, sums: ExactSums, coins: Coins) -> Floats:
        """Return the sums of a round, counted from 0, with noise, in deviations of the noise."""
        n_entries = self.entries[round_number]
        if sums.low.shape != (n_entries,):
            raise GuaranteeBroken(
                f"Expected {n_entries} whole numbers; there are {len(sums.low)}. Nothing was released."
            )
        sums.add(draw_gaussian(coins, n_entries))
        told = sums.shifted(DEVIATION_BITS - TOLD_BITS)
        return np.asarray(np.clip(told, -LARGEST, LARGEST) / (1 << TOLD_BITS))


@dataclass(frozen=True, slots=True)
class SumsStage:
    """A stage that releases sums round by round: recorded before the next one, on a resumed run only read.

    Parameters
    ----------
    of
        A public digest of the feature map: sums of one map are never read as those of another.
    """

    mechanism: MomentSums
    name: str
    of: str

    def begin(self, coins: Coins, ledger: Ledger) -> tuple[Floats, ...]:
        """Begin the stage, or find it again, and return the rounds on record, in deviations of the noise."""
        limit = Limit(sum(self.mechanism.entries), 0)
        facts = self.mechanism.parameters
        begin(ledger, first_entry(self.name, self.mechanism.name, facts, coins, limit=limit, map=self.of))
        return self._rounds(ledger)

    def release(self, sums: ExactSums, coins: Coins, ledger: Ledger) -> tuple[Floats, ...]:
        """Spend one more round, and return all that are on record by then."""
        done, entries = len(self._rounds(ledger)), self.mechanism.entries
        if done >= len(entries):
            raise GuaranteeBroken(f"All {done} rounds were released before; nothing more was.")
        told = np.rint(self.mechanism.release(done, sums, coins) * (1 << TOLD_BITS)).astype(np.int32)
        ended = done + 1 == len(entries)
        spend(ledger, self.name, Decision(len(told), ended=ended, answers=Answers(told, None, len(told))))
        return self._rounds(ledger)

    def _rounds(self, ledger: Ledger) -> tuple[Floats, ...]:
        recorded = ledger.progress(self.name).labels / float(1 << TOLD_BITS)
        ends = list(accumulate(self.mechanism.entries, initial=0))
        return tuple(recorded[a:b] for a, b in pairwise(ends) if b <= len(recorded))
