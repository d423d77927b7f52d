"""Was somebody in the table? A guess from labels alone, learned on some runs and judged on others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.audit.statistical import epsilon_lower_bound

Seen = NDArray[np.integer[Any]]
"""What was seen, run by run: how often each code occurred."""

PRACTICE = 0.25
"""The share of the runs that the attack is tuned on; these prove nothing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How an attack did on runs that it was not tuned on."""

    guesses: int
    right: int
    epsilon: float
    """A lower bound, at the confidence that was asked for."""
    most: float
    """What the bound would be had every guess been right."""


def guess_membership(inside: Seen, outside: Seen, delta: float, confidence: float) -> Judged:
    """Tell runs with somebody from runs without, by how often each code was seen, and bound epsilon from below.

    The weights of the codes and the threshold come from the first runs of either side. The event that they make
    is counted on the others, and Clopper-Pearson intervals of its two chances bound their ratio.
    """
    n = min(len(inside), len(outside))
    practised = max(1, int(PRACTICE * n))
    weights = _log_odds(inside[:practised]) - _log_odds(outside[:practised])
    ins, outs = (np.asarray(side[:n] @ weights) for side in (inside, outside))
    threshold, above = _best(ins[:practised], outs[:practised], delta, confidence)
    hits, others = int((ins[practised:] >= threshold).sum()), int((outs[practised:] >= threshold).sum())
    draws = n - practised
    right = hits + draws - others
    pair = (hits, others) if above else (draws - others, draws - hits)
    return Judged(2 * draws, right, _bound(*pair, draws, delta, confidence), most_provable(n, delta, confidence))


def most_provable(runs: int, delta: float, confidence: float) -> float:
    """Return the bound of an attack that is never wrong in so many runs on either side."""
    draws = runs - max(1, int(PRACTICE * runs))
    return _bound(draws, 0, draws, delta, confidence)


def runs_needed(epsilon: float, confidence: float) -> int:
    """Return about how many runs on either side an attack that is never wrong needs to refute an epsilon."""
    return math.ceil(math.log(2 / (1 - confidence)) * (math.exp(epsilon) + 1) / (1 - PRACTICE)) + 2


def _log_odds(seen: Seen) -> NDArray[np.float64]:
    total = seen.sum(axis=0) + 0.5
    return np.asarray(np.log(total / total.sum()))


def _best(
    ins: NDArray[np.float64], outs: NDArray[np.float64], delta: float, confidence: float
) -> tuple[float, bool]:
    """Return the threshold, and whether what lies above it or below it is the event, that did best in practice."""
    scores = np.unique(np.concatenate([ins, outs]))
    middles = (scores[1:] + scores[:-1]) / 2 if len(scores) > 1 else scores
    best = (-1.0, -1, float(middles[0]), True)
    n = len(ins)
    for threshold in middles:
        hits, others = int((ins >= threshold).sum()), int((outs >= threshold).sum())
        for pair, above in (((hits, others), True), ((n - others, n - hits), False)):
            # Of thresholds that prove as little, the one that guesses best.
            best = max(best, (_bound(*pair, n, delta, confidence), hits - others, float(threshold), above))
    return best[2], best[3]


def _bound(hits: int, others: int, draws: int, delta: float, confidence: float) -> float:
    return max(0.0, epsilon_lower_bound(hits, others, draws, delta, confidence))
