"""The best of a random number of private runs, at about three times the price of one (Liu and Talwar, 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mapl.accounting import Loss
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.mechanisms.mechanism import Parameters
from mapl.noise import ONE, Coins
from mapl.planning.plan import Stage, canonical
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit
from mapl.release.spend import RELEASED, Decision, first_entry, spend_once
from mapl.types import Budget, positive_integer

MOST_RUNS = 10_000
"""The largest mean number of runs; somebody has to wait for them."""

Run = Callable[[int], tuple[int, Any]]
"""Carries a candidate out privately and returns its score and its outcome, both within the price of one run."""


@dataclass(frozen=True, slots=True)
class RandomRepetition:
    """Run candidates drawn at random, a geometric number of times, and publish the best outcome and nothing else.

    After every run a coin says whether it was the last one, with chance `stop` / 2^62. Candidates are drawn anew
    for each run, all with the same chance.

    Parameters
    ----------
    stop
        gamma, as a numerator over 2^62; the mean number of runs is its inverse.
    n_candidates
        How many settings there are to draw from; public.

    Notes
    -----
    *Guarantee.* `price` of what one run costs, whichever candidate it is: pure 3 epsilon for pure epsilon, and the
    Renyi bound of Papernot and Steinke (2022), Theorem 2, for eta = 1. How many runs there were must stay secret,
    and so must all outcomes but the published one. Proof: docs/proofs/private-selection.md.

    Examples
    --------
    >>> repetition = RandomRepetition.with_mean(20, n_candidates=5)
    >>> round(repetition.price(Loss.pure(0.5)).epsilon(0.0), 6)
    1.5
    """

    stop: int
    n_candidates: int

    name: ClassVar[str] = "random-repetition"

    def __post_init__(self) -> None:
        positive_integer(candidates=self.n_candidates)
        if not ONE // MOST_RUNS <= self.stop <= ONE:
            raise InvalidParameter(f"The mean number of runs must lie between 1 and {MOST_RUNS:,}.")

    @classmethod
    def with_mean(cls, mean_runs: float, *, n_candidates: int) -> RandomRepetition:
        """Stop after each run with the chance that makes this mean number of runs, rounded up."""
        if not 1 <= mean_runs <= MOST_RUNS:
            raise InvalidParameter(f"mean_runs is {mean_runs}; it must lie between 1 and {MOST_RUNS:,}.")
        return cls(min(ONE, math.ceil(ONE / Fraction(mean_runs))), n_candidates)

    @property
    def parameters(self) -> Parameters:
        return {"stop": self.stop, "candidates": self.n_candidates, "max_answers": 1, "max_abstentions": 0}

    def price(self, each: Loss) -> Loss:
        """Return what the selection costs if one run costs `each`.

        At order a: R(a) + 2 (1 - 1/b) R(b) + 2 ln(1/gamma) / b + ln(1/gamma) / (a - 1), for the best order b.
        """
        if each.delta:
            raise InvalidParameter(
                "One run has a delta above 0, and only runs without one are priced; take a mechanism whose loss "
                "has none, such as noisy counts or the link."
            )
        log_mean = math.log(ONE / self.stop) * (1 + 1e-15)
        # At b = infinity: R(b) is the pure epsilon and nothing is paid for the number of runs.
        others = [2 * (r if math.isinf(b) else (1 - 1 / b) * r + log_mean / b) for b, r in each.divergences]
        if not others:
            return Loss.everything()
        least = min(others) * (1 + 1e-14)
        return Loss.of(
            {
                a: (r + least + (0.0 if math.isinf(a) else log_mean / (a - 1))) * (1 + 1e-14)
                for a, r in each.divergences
            }
        )

    def stage(self, each: Loss, budget: Budget, *, name: str = "selection") -> Stage:
        """Return the stage of a plan that covers the whole selection, all its runs included, or refuse it."""
        epsilon = self.price(each).epsilon(budget.delta)
        if not epsilon <= budget.epsilon:
            raise GuaranteeBroken(
                f"The selection costs epsilon {epsilon:.6g}; allowed is {budget.epsilon:g} (both at delta "
                f"{budget.delta:g}, for the adjacency and unit of one run). Make one run cheaper, or make fewer."
            )
        return Stage(name, self.name, dict(self.parameters), budget)

    def release(self, run: Run, coins: Coins) -> tuple[int, Any]:
        """Return the number of the candidate that was best and its outcome; of equals the last as text counts."""
        best: tuple[int, str, int, Any] | None = None
        while True:
            candidate = int(coins.below(np.array([self.n_candidates], dtype=np.int64))[0])
            score, outcome = run(candidate)
            if isinstance(score, bool) or not isinstance(score, (int, np.integer)):
                raise InvalidData("A run returned a score that is no whole number; nothing was released.")
            # Everything that is published takes part in the order, so that equals are the same outcome.
            found = (int(score), canonical([candidate, outcome]), candidate, outcome)
            best = found if best is None or found[:2] > best[:2] else best
            if coins.flip(np.array([self.stop], dtype=np.int64))[0]:
                return best[2], best[3]

    def law(self, one_run: list[Fraction]) -> list[Fraction]:
        """Return the exact chances of what is published, given those of one run in ascending order of outcomes."""
        if sum(one_run) != 1:
            raise GuaranteeBroken("The chances of one run do not add up to one.")
        gamma, above = Fraction(self.stop, ONE), Fraction(1)
        chances = []
        for chance in one_run:
            at_least, above = above, above - chance
            chances.append(gamma * chance / (_open(gamma, above) * _open(gamma, at_least)))
        return chances


def _open(gamma: Fraction, better: Fraction) -> Fraction:
    return gamma + (1 - gamma) * better


def repeat_and_select(
    repetition: RandomRepetition, run: Run, coins: Coins, *, ledger: Ledger, stage: str = "selection"
) -> tuple[int, Any]:
    """Select once: only the published outcome is recorded, before it is returned; on a resumed run it is only read.

    Nothing of the other runs is recorded, not even how many there were. One that was killed before the outcome was
    on record has published nothing, and starts over.
    """
    start = first_entry(stage, repetition.name, repetition.parameters, coins, limit=Limit(1, 0))
    recorded = spend_once(ledger, start, lambda: Decision.of_value([*repetition.release(run, coins)]))
    candidate, outcome = recorded.told()[RELEASED]
    return int(candidate), outcome
