"""The link for three classes: answer every question, each class weighted by how far it is behind."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import ORDERS, Loss
from mapl.errors import CannotCalibrate, GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss, Task
from mapl.mechanisms.tables.offset_table import LinkDesign
from mapl.mechanisms.votes.link import (
    LAST_ERROR,
    Link,
    affordable,
    climb,
    design,
    first_error,
    longest_table,
)
from mapl.noise import Coins
from mapl.types import Budget, Floats, Outcome, State, Tallies

WHOLE = 1 << 48
"""The leading class's weight: exact as a float, and small beside ONE, so that a choice is hardly ever redrawn."""
MOST_GAPS = 2_000
"""Longest table: the certificate looks at every pair of gaps, so its time grows with the square of this."""
ROUNDING = 1e-12
"""Allowance for floating-point error in log-ratios and in log-moments, many times what they can be off by."""
LARGEST_EXPONENT = 600.0
MOST_SHARE = 2.0
PAIRS_AT_ONCE = 1 << 14

Gaps = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class GapWeights:
    """Exact weight of a class by the votes it is behind the leading one; the last is held beyond the end."""

    weights: NDArray[np.int64]

    def at(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weight of each class, for each row of counts."""
        behind = counts.max(axis=1, keepdims=True) - counts
        return np.asarray(self.weights.take(behind, mode="clip"))

    def worst(self, orders: tuple[float, ...], n_teachers: int) -> list[float]:
        """Return, per order, an upper bound on the divergence over all neighbouring histograms of K votes.

        The law does not depend on the names of the classes, so the first histogram may be taken with
        its classes sorted; going through all six moves then meets every ordered pair of neighbours.
        """
        logs = np.log(self.weights / WHOLE)
        moments = np.zeros(len(orders))
        largest = 0.0
        for near, far in gap_pairs(n_teachers, len(self.weights) - 1):
            before = np.stack([np.zeros_like(near), -near, -far])
            chances, log_chances = self._law(before, logs)
            for giver, taker in permutations(range(3), 2):
                after = before.copy()
                after[giver] -= 1
                after[taker] += 1
                ratios = log_chances - self._law(after, logs)[1]
                largest = max(largest, float(ratios.max()))
                for k, order in enumerate(orders):
                    moment = (chances * np.exp(np.minimum((order - 1) * ratios, LARGEST_EXPONENT))).sum(axis=0)
                    moments[k] = max(moments[k], moment.max())
        bounds = []
        for order, worst in zip(orders, moments, strict=True):
            bound = largest + ROUNDING  # no order's divergence exceeds the largest log-ratio
            if (order - 1) * largest <= LARGEST_EXPONENT:
                bound = min(bound, (math.log(worst) + ROUNDING) / (order - 1) + ROUNDING)
            bounds.append(max(bound, 0.0))
        return bounds

    def certified(self, claim: LinkDesign, n_teachers: int) -> bool:
        """Verify from the integers that no neighbouring histograms of K votes diverge by more than claimed."""
        if not (self.weights[0] == WHOLE and self.weights.min() > 0 and self.weights.max() == WHOLE):
            return False
        return self.worst((claim.order,), n_teachers)[0] <= claim.divergence

    def _law(self, counts: Gaps, logs: Floats) -> tuple[Floats, Floats]:
        """Return the chances of three classes, given by column, and their logarithms."""
        gaps = counts.max(axis=0) - counts
        weights = self.weights.take(gaps, mode="clip") / WHOLE
        total = weights.sum(axis=0)
        return weights / total, logs.take(gaps, mode="clip") - np.log(total)

    def __len__(self) -> int:
        return len(self.weights)


def gap_pairs(n_teachers: int, end: int) -> Iterator[tuple[Gaps, Gaps]]:
    """Yield, in blocks, gaps i <= j of the other classes behind the leading one that cover all histograms.

    K votes with leading count M have gaps with i + j = 3M - K and j <= M. A class that is more than
    `end` + 2 behind has the last weight before and after any move: one such gap stands for all, with any i.
    """
    last = min(n_teachers, end + 2)
    nears, fars, pending = [], [], 0
    for j in range(last + 1):
        lowest = max(0, 2 * j - n_teachers)
        i = np.arange(lowest + (-n_teachers - j - lowest) % 3, j + 1, 3)
        nears.append(i)
        fars.append(np.full_like(i, j))
        pending += len(i)
        if pending >= PAIRS_AT_ONCE or j == last:
            yield np.concatenate(nears), np.concatenate(fars)
            nears, fars, pending = [], [], 0
    if n_teachers > last:
        i = np.arange(last + 2)
        yield i, np.full_like(i, last + 1)


@dataclass(frozen=True)
class LatticeLink(PricedByLoss):
    """Answer each three-class question at random, a class that is g votes behind having the weight of gap g.

    Parameters
    ----------
    weights
        Integer weight by gap to the leading class. Classes that are tied have equal chances.
    n_teachers
        K: the certificate goes through the histograms of K votes, so other votes are refused.
    n_queries
        m: the run halts after the m-th answer.
    order, divergence
        The Renyi order a that the weights were built for and what one answer costs there.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for n_queries adaptively chosen questions.
    Adjacency: one teacher changes its votes arbitrarily; unit: one teacher, hence every record of its
    shard. Theorem 2 of docs/proofs/link.md: the divergence is the maximum over all neighbouring
    histograms, computed from the integer weights.
    """

    weights: GapWeights
    n_teachers: int
    n_queries: int
    order: float
    divergence: float

    name: ClassVar[str] = "link"

    @classmethod
    def for_task(cls, task: Task, *, order: float | None = None) -> Self:
        """Build the weights from two-class tables, shrunk until the exact maximum is within the budget."""
        if task.n_classes != 3:
            raise InvalidParameter(f"There are {task.n_classes} classes; the lattice link needs exactly 3.")
        longest = min(longest_table(task.n_teachers), MOST_GAPS // 2)
        found = design(task.budget, task.n_queries, odd=False, longest=longest, order=order)
        if not affordable(task.budget, task.n_queries, found):
            raise GuaranteeBroken("The link's price failed its exact certificate; nothing was released.")
        weights = largest_private(found, task.n_teachers, longest)
        return cls(weights, task.n_teachers, task.n_queries, found.order, found.divergence)

    def certify(self, budget: Budget) -> bool:
        """Verify every hypothesis of Theorem 2 from the integers."""
        claim = LinkDesign(self.order, self.divergence)
        return affordable(budget, self.n_queries, claim) and self.weights.certified(claim, self.n_teachers)

    @property
    def parameters(self) -> Parameters:
        return {
            "n_queries": self.n_queries,
            "order": self.order,
            "divergence_per_answer": self.divergence,
            "gaps": len(self.weights),
        }

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        left = 0 if state.halted else self.n_queries - state.answered
        counts = self._covered(block.first(left))
        labels = coins.choose(self.weights.at(counts))
        return Outcome(labels, state.after(len(labels), 0, halted=len(labels) >= left))

    def chances(self, block: Tallies, state: State) -> Floats:
        weights = self.weights.at(self._covered(block))
        never = np.zeros((len(block), 1))
        return np.hstack([weights / weights.sum(axis=1, keepdims=True), never])

    def _covered(self, block: Tallies) -> NDArray[np.int64]:
        """Return the counts, refusing votes that the certificate does not cover."""
        if block.n_classes != 3:
            raise InvalidData(f"The votes have {block.n_classes} classes; the lattice link needs exactly 3.")
        counts = block.counts.astype(np.int64)
        if (counts.sum(axis=1) != self.n_teachers).any():
            raise GuaranteeBroken(
                f"The weights are certified for {self.n_teachers} teachers and the votes have another number; "
                "calibrate again with the votes' number of teachers."
            )
        return counts

    @cached_property
    def per_answer(self) -> Loss:
        """The loss of one answer, at the common orders and at the one the weights were built for."""
        worst = self.weights.worst(ORDERS, self.n_teachers)
        return Loss.of({**dict(zip(ORDERS, worst, strict=True)), self.order: self.divergence})

    @property
    def total(self) -> Loss:
        return self.per_answer * self.n_queries

    def spent(self, state: State) -> Loss:
        return self.per_answer * state.answered

    def required_distance(self, probability: float) -> int | None:
        # At distance d every other class is at least 2d behind; two of them exactly there are the worst case.
        rivals = 2 * self.weights.weights[::2]
        reached = rivals <= (1 - probability) * (rivals + WHOLE)
        return int(np.argmax(reached)) if reached.any() else None

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        weights = self.weights.at(np.array([[n_teachers, 0, 0]]))[0]
        return float(weights[0] / weights.sum())


def largest_private(found: LinkDesign, n_teachers: int, longest: int) -> GapWeights:
    """Return weights whose exact maximal divergence is just below the allowed one.

    The maximum is almost proportional to the divergence that the two-class tables are built for, so a
    few proportional steps suffice; only weights that pass the certificate are ever returned.
    """
    share, best = 0.84, None
    for _ in range(8):
        weights = build(LinkDesign(found.order, share * found.divergence), longest)
        [worst] = weights.worst((found.order,), n_teachers)
        used = worst / found.divergence
        if used <= 1:
            best = weights
            if used > 0.999 or share == MOST_SHARE:
                break
        share = min(share / used * (1 - 2e-4), MOST_SHARE)
    if best is None:
        raise CannotCalibrate(
            "No three-class link is precise enough for so many questions; ask fewer, or raise the budget."
        )
    return best


def build(found: LinkDesign, longest: int) -> GapWeights:
    """Weigh gap g by q / (1 - q), q being the error of the two-class table at a lead of g votes.

    Even leads are in the table of an even number of teachers, odd ones in that of an odd number.
    """
    order, divergence = np.full(2, found.order), np.full(2, found.divergence)
    first = [first_error(order[:1], divergence[:1], odd=odd)[0] for odd in (False, True)]
    tables = climb(order, divergence, np.array(first), longest, LAST_ERROR)
    errors = np.minimum.accumulate(np.exp(np.stack(tables).ravel())).clip(LAST_ERROR)
    return GapWeights(np.rint(WHOLE * (errors / (1 - errors))).astype(np.int64))


class LinkByClasses:
    """The link for a task's number of classes: a table of offsets for two, gap weights for three.

    Notes
    -----
    *Guarantee.* That of `Link` or `LatticeLink`, whichever is built: (epsilon, delta)-differential privacy for
    n_queries adaptively chosen questions. Adjacency: one teacher changes its votes arbitrarily; unit: one
    teacher. Theorems 1 and 2 of docs/proofs/link.md.
    """

    name: ClassVar[str] = "link"

    @classmethod
    def for_task(cls, task: Task, *, order: float | None = None) -> Link | LatticeLink:
        """Calibrate the link for two or three classes."""
        if task.n_classes == 2:
            return Link.for_task(task, order=order)
        return LatticeLink.for_task(task, order=order)
