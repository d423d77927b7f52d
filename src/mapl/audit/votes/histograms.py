"""Every neighbouring pair of vote histograms, and the exact laws that a mechanism answers them with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Protocol

import numpy as np

from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.types import Flags, Floats, Integers, Outcome, State, Tallies

MOST_HISTOGRAMS = 20_000
NEVER = 1e-24
"""Chances below this are smaller than the resolution of noise tables; P's share of them counts as impossible."""


class Law(Protocol):
    """The part of a mechanism that an adversary meets: what it does, not what it claims."""

    def start(self, coins: Coins) -> State: ...

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome: ...

    def chances(self, block: Tallies, state: State) -> Floats: ...


def histograms(n_teachers: int, n_classes: int) -> Integers:
    """Return all ways in which the teachers' votes can fall on the classes, one per row, in dictionary order."""
    number = math.comb(n_teachers + n_classes - 1, n_classes - 1)
    if number > MOST_HISTOGRAMS:
        raise InvalidParameter(
            f"{n_teachers} teachers and {n_classes} classes have {number:,} vote histograms; an exhaustive audit "
            f"takes at most {MOST_HISTOGRAMS:,}. Audit fewer teachers or fewer classes."
        )
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(n_classes - 1):
        left = n_teachers - rows.sum(axis=1)
        rows = np.column_stack(
            [np.repeat(rows, left + 1, axis=0), np.concatenate([np.arange(n + 1) for n in left])]
        )
    return np.column_stack([rows, n_teachers - rows.sum(axis=1)])


def neighbours(rows: Integers) -> tuple[Integers, Integers]:
    """Return the indices (i, j) of all pairs where histogram j is histogram i with one vote moved."""
    n_classes = rows.shape[1]
    radix = (int(rows.sum(axis=1)[0]) + 1) ** np.arange(n_classes - 1, -1, -1)
    keys = rows @ radix  # ascending, since the rows are in dictionary order
    before, after = [], []
    for giver, taker in permutations(range(n_classes), 2):
        movable = np.flatnonzero(rows[:, giver] > 0)
        before.append(movable)
        after.append(np.searchsorted(keys, keys[movable] - radix[giver] + radix[taker]))
    return np.concatenate(before), np.concatenate(after)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of outcome laws of one question, P's and Q's; the adversary may ask any of them, at any time.

    Outcomes that P can have and Q cannot are taken out; their chance under P is `impossible`. Since for every
    pair its mirror image is there too, the direction from P to Q covers both.
    """

    p: Floats
    q: Floats
    impossible: Floats
    abstains: Flags
    """Which columns are paid for as abstentions, fallback answers among them."""

    @classmethod
    def of(cls, p: Floats, q: Floats, n_classes: int) -> Pairs:
        """Sort out pairs of rows of `chances`, keeping one of each kind."""
        groups = [slice(0, n_classes), slice(n_classes, n_classes + 1), slice(n_classes + 1, p.shape[1])]
        # The order of the labels does not matter to an adversary: sorted rows make equal pairs equal.
        sorted_groups = [np.sort(p[:, g] + 1j * q[:, g], axis=1) for g in groups]
        rows = np.unique(np.concatenate(sorted_groups, axis=1), axis=0)
        p, q = rows.real, rows.imag
        differing = (p != q).any(axis=1)
        if differing.any():
            p, q = p[differing], q[differing]
        never = (q < NEVER) | (p < NEVER)
        impossible = np.where(q < NEVER, p, 0.0).sum(axis=1)
        seen = np.flatnonzero(~never.all(axis=0))
        return cls(
            np.where(never, 0.0, p)[:, seen], np.where(never, 0.0, q)[:, seen], impossible, seen >= n_classes
        )

    def log_ratios(self) -> Floats:
        """Return ln(p/q) of every outcome, zero where it is taken out."""
        gone = self.p == 0
        return np.asarray(np.log(np.where(gone, 1.0, self.p)) - np.log(np.where(gone, 1.0, self.q)))

    def __len__(self) -> int:
        return len(self.p)


def pairs_of(law: Law, n_teachers: int, n_classes: int) -> Pairs:
    """Return the laws of every neighbouring pair of histograms under a mechanism without a secret."""
    rows = histograms(n_teachers, n_classes)
    chances = law.chances(Tallies(rows), State())
    before, after = neighbours(rows)
    return Pairs.of(chances[before], chances[after], n_classes)
