"""The class counts of all cells of a public partition, released at once with exact discrete Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from mapl.accounting import Loss
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.noise import ONE, Coins
from mapl.noise.geometric import decay, two_sided_geometric
from mapl.release.ledger.chain import Answers
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit
from mapl.release.spend import Decision, first_entry, spend_once
from mapl.types import Adjacency, Integers, finite_positive, positive_integer

SENSITIVITY: dict[Adjacency, int] = {"add-remove": 1, "replace-one": 2, "labels": 2}
"""By how much one unit changes all counts together. A unit that may change leaves one count and enters another."""

MOST_ENTRIES = 1 << 26
"""Integers that are released at once, at most: half a gigabyte of them."""

LARGEST = (1 << 31) - 1
"""Where a ledger's whole numbers end. Beyond it a noisy count is cut off, which is post-processing."""

LEAST = 1e-4
"""The least epsilon per unit of sensitivity: noise is drawn coin by coin, 2 / LEAST of them per count."""


@dataclass(frozen=True)
class CellCounts:
    """Add two-sided geometric noise to the number of units of every class in every cell.

    A unit counts once, in one cell and one class, so that adding or removing it changes one count by one, whatever
    the number of cells is: the whole table costs a single epsilon, and delta is 0.

    Parameters
    ----------
    epsilon
        What the release of the whole table costs.
    n_cells, n_classes
        The size of the table, which is public: empty cells are released like all others.
    sensitivity
        By how much one unit changes all counts together: 1 where it is added or removed, 2 where it may change.

    Notes
    -----
    *Guarantee.* Pure epsilon-differential privacy. Proof: docs/proofs/cells.md.
    """

    epsilon: float
    n_cells: int
    n_classes: int
    sensitivity: int = 1

    name: ClassVar[str] = "cell-counts"

    def __post_init__(self) -> None:
        finite_positive(epsilon=self.epsilon)
        positive_integer(n_cells=self.n_cells, n_classes=self.n_classes, sensitivity=self.sensitivity)
        if self.n_cells * self.n_classes > MOST_ENTRIES:
            raise InvalidParameter(
                f"{self.n_cells} cells of {self.n_classes} classes are {self.n_cells * self.n_classes} counts; at "
                f"most {MOST_ENTRIES} are released at once. Ask for fewer cells."
            )
        if self.epsilon < LEAST * self.sensitivity:
            raise InvalidParameter(
                f"epsilon of the cell counts is {self.epsilon:g}; it must be at least "
                f"{LEAST * self.sensitivity:g}: larger noise takes too long to draw. Give the counts a larger "
                "share of the budget."
            )

    @cached_property
    def numerator(self) -> int:
        """How slowly the chance of larger noise falls, over 2^62 and rounded up: never less noise than needed."""
        return decay(self.epsilon, self.sensitivity)

    @property
    def parameters(self) -> Parameters:
        return {
            "epsilon": self.epsilon,
            "cells": self.n_cells,
            "classes": self.n_classes,
            "sensitivity": self.sensitivity,
            "entries": self.n_cells * self.n_classes,
        }

    @property
    def total(self) -> Loss:
        return Loss.pure(self.epsilon)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one count."""
        a = self.numerator / ONE
        return math.sqrt(2 * a) / (1 - a)

    def release(self, counts: Integers, coins: Coins) -> Integers:
        """Return the counts with noise of their own each; they may become negative."""
        if counts.shape != (self.n_cells, self.n_classes) or counts.dtype.kind not in "iu":
            raise GuaranteeBroken(
                f"Expected whole numbers for {self.n_cells} cells and {self.n_classes} classes; this table has "
                f"shape {counts.shape}. Nothing was released."
            )
        noise = two_sided_geometric(coins, self.numerator, counts.size).reshape(counts.shape)
        # Unsigned counts plus noise would be floats. Wrapping around, like clipping, acts on the noisy sum alone.
        return np.asarray(np.clip(counts.astype(np.int64) + noise, -LARGEST, LARGEST))

    def chance(self, noise: int) -> Fraction:
        """Return the exact chance that a count is off by so much."""
        a = Fraction(self.numerator, ONE)
        return Fraction((1 - a) / (1 + a) * a ** abs(noise))


def release_counts(
    mechanism: CellCounts,
    counts: Integers,
    coins: Coins,
    *,
    ledger: Ledger,
    stage: str = "counts",
    of: str | None = None,
) -> Integers:
    """Release a table of counts once: recorded before it is returned, and on a resumed run only read.

    Parameters
    ----------
    of
        A public digest of the cells, where they are known: counts of some cells are never read as those of others.
    """
    n_entries = mechanism.n_cells * mechanism.n_classes
    facts = {} if of is None else {"cells": of}
    start = first_entry(stage, mechanism.name, mechanism.parameters, coins, limit=Limit(n_entries, 0), **facts)

    def decide() -> Decision:
        noisy = mechanism.release(counts, coins).ravel().astype(np.int32)
        return Decision(n_entries, ended=True, answers=Answers(noisy, None, n_entries))

    spend_once(ledger, start, decide)
    recorded = ledger.progress(stage).labels
    return recorded.astype(np.int64).reshape(mechanism.n_cells, mechanism.n_classes)
