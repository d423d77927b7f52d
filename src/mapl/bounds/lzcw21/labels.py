"""How many teachers make all but a few pseudo-labels those of the best classifier: LZCW21's Algorithms 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mapl.bounds.btt18.algorithm2 import CONTESTED, count_contested
from mapl.mechanisms.papers.sparse_vector import scale_by_concentration
from mapl.types import ADJACENCY, UNIT

Disagreement = Callable[[int, float], float]
"""From rows and failure probability to how often one teacher disagrees with the best classifier at most."""

PRIVACY = f"epsilon is promised at delta for this adjacency: {ADJACENCY}; unit: {UNIT}."
CHUNKS = (
    "Each teacher has floor(n/K) independent rows; n is public and rows are cut by position, so one changed row "
    "changes one teacher only."
)
PUBLIC = "The m public rows are independent draws of the same distribution, labelled once each."
MINIMISER = "Teachers and student minimise the error on their rows over one class of the given VC dimension."
NOISE_CONDITION = (
    "Dis(h, h*) <= eta (err(h) - err(h*))^tau for every classifier h of the class (Tsybakov's condition, Lemma 4)."
)
REALIZABLE = "Some classifier of the class never errs, and every teacher makes no error on its rows."
CONTINUOUS = "The noise is on the line; on the integers, as in mapl, rounding costs a few teachers more."


def with_probability(failures: str) -> str:
    """Say how often the promise may fail, and over what."""
    return f"It holds with probability at least 1 - {failures} over private rows, public rows and noise."


@dataclass(frozen=True, slots=True)
class Labels:
    """Pseudo-labels of m public rows of which at most `wrong` are not those of the best classifier.

    Parameters
    ----------
    scale
        Of the noise: lambda of Algorithm 2, sigma of Algorithm 1.
    disagreement
        How often each teacher disagrees with the best classifier at most.
    """

    m: int
    teachers: int
    wrong: int
    scale: float
    disagreement: float

    @property
    def wrong_share(self) -> float:
        return self.wrong / self.m


def gaussian_scale(answers: int, epsilon: float, delta: float) -> float:
    """Return Algorithm 1's sigma: the solution of sqrt(2 l ln(1/delta))/sigma + l/(2 sigma^2) = epsilon."""
    log = math.log(1 / delta)
    return math.sqrt(answers / 2) * (math.sqrt(log + epsilon) + math.sqrt(log)) / epsilon


def gaussian_teachers(answers: int, scale: float, beta: float) -> int:
    """Return how many teachers drown all Gaussian draws, except with probability beta.

    Where at most a third of K teachers are against, the count is K/6 or more away from K/2, and l draws all stay
    within sigma sqrt(2 ln(l/(2 beta))) on the one side that matters.
    """
    return math.ceil(2 * CONTESTED * scale * math.sqrt(2 * math.log(max(answers / (2 * beta), 1.0))))


def gaussian_labels(
    n: int, m: int, *, epsilon: float, delta: float, beta: float, disagreement: Disagreement
) -> Labels | None:
    """Label m rows by Algorithm 1; None if there are fewer rows than teachers."""
    scale = gaussian_scale(m, epsilon, delta)
    teachers = gaussian_teachers(m, scale, beta / 3)
    if teachers > n:
        return None
    rate = disagreement(n // teachers, beta / (3 * teachers))
    return Labels(m, teachers, count_contested(m, rate, beta / 3), scale, rate)


def sparse_teachers(m: int, cutoff: int, scale: float, *, delta: float, beta: float) -> int:
    """Return how many teachers make every uncontested row pass Algorithm 2, except with probability beta.

    An uncontested row has distance K/6 - 1 or more; the threshold is w = 3 lambda ln(2(m + T)/delta), the m draws
    of scale 2 lambda stay above -2 lambda ln(m/beta) and the T draws of scale lambda below lambda ln(T/beta).
    """
    threshold = 3 * scale * math.log(2 * (m + cutoff) / delta)
    noise = 2 * scale * math.log(m / beta) + scale * math.log(cutoff / beta)
    return math.ceil(2 * CONTESTED * (threshold + noise + 1))


def sparse_labels(
    n: int, m: int, *, epsilon: float, delta: float, beta: float, disagreement: Disagreement
) -> Labels | None:
    """Label m rows by Algorithm 2; None if no number of teachers up to n allows for its own contested rows.

    Fewer rows for each teacher mean more contested rows, a larger cutoff T, more noise, and more teachers: T is
    looked for together with K. The walk K -> T -> K starts at one teacher and never falls, because each step grows
    with K; it is on whole numbers and leaves at n, so it ends, and it ends at the smallest K that suffices.
    Algorithm 2 halts at T abstentions, so that T is one more than the contested rows that it has to survive.
    """
    teachers = 1
    while teachers <= n:
        rate = disagreement(n // teachers, beta / (3 * teachers))
        wrong = count_contested(m, rate, beta / 3)
        scale = scale_by_concentration(wrong + 1, epsilon, delta)
        needed = sparse_teachers(m, wrong + 1, scale, delta=delta, beta=beta / 3)
        if needed <= teachers:
            return Labels(m, teachers, wrong, scale, rate)
        teachers = needed
    return None
