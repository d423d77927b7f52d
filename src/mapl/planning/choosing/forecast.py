"""What a mechanism is expected to publish: exact expectation over the coins and a random order of questions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats

MOST_EXACT = 40_000
"""Up to this many abstentions their law is computed exactly; beyond, it is as good as Gaussian."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected numbers of answers, of answers that give the teachers' winner, and of abstentions without answer."""

    answered: float
    winners: float
    abstained: float
    right: float | None = None
    """Expected answers that give the true label, where something is known about it."""

    @property
    def agreement(self) -> float:
        """The expected share of answers that give the teachers' winner."""
        return self.winners / self.answered if self.answered else 0.0


def forecast(published: Floats, winner: NDArray[np.int32], n_classes: int) -> Forecast:
    """Sum up expected outcome counts, laid out like `Mechanism.chances`, one row per group of questions."""
    fallback = published[:, n_classes + 1 :]
    rows = np.arange(len(winner))
    winners = published[rows, winner].sum() + (fallback[rows, winner].sum() if fallback.size else 0.0)
    answered = published[:, :n_classes].sum() + fallback.sum()
    return Forecast(float(answered), float(winners), float(published[:, n_classes].sum()))


def chance_of_being_reached(questions: NDArray[np.int64], abstaining: Floats, max_abstentions: int) -> Floats:
    """Return for each group the chance that one of its questions is taken before the run halts.

    All orders of all questions are equally likely, and the run halts right after abstention number T.
    Toss every coin first, then order: if N of the *other* questions abstain, a question stands behind a
    uniform number of them, so it is taken with probability min(1, T / (N + 1)), whatever its own coin.
    N is a sum of binomials; its law comes from the characteristic function, one question left out. A group without
    questions has none to leave out: its value is that of one question more.
    """
    mean = float(questions @ abstaining)
    deviation = float(np.sqrt(questions @ (abstaining * (1 - abstaining))))
    # N stays within twelve deviations of its mean but for a chance below 1e-30, so a longer table tells no more.
    first = max(0, math.floor(mean - 12 * deviation) - 64)
    support = min(int(questions.sum()), math.ceil(mean + 12 * deviation) + 64) - first
    if support > MOST_EXACT:
        nodes, weights = np.polynomial.hermite_e.hermegauss(41)
        others = np.maximum(mean + deviation * nodes, 0.0)
        gaussian = weights @ np.minimum(1.0, max_abstentions / (others + 1)) / weights.sum()
        return np.full(len(questions), float(gaussian))
    size = 1 << (support + 1).bit_length()
    turn = np.exp(2j * np.pi * np.arange(size // 2 + 1) / size)
    factors = (1 - abstaining)[:, None] + abstaining[:, None] * turn[None, :]
    # A fair coin's factor vanishes at one frequency; a tiny one in its place changes the law by less than 1e-100.
    logs = np.log(np.where(np.abs(factors) < 1e-150, 1e-150, factors))
    whole = questions @ logs
    counts = np.arange(first, first + support + 1)
    taken = np.minimum(1.0, max_abstentions / (counts + 1))
    out = np.empty(len(questions))
    for g, own in enumerate(logs):
        others = whole - own if questions[g] else whole
        law = np.fft.irfft(np.exp(others).conj(), size)
        # The law is periodic: it is read where its one bump lies.
        out[g] = float(law[counts % size] @ taken)
    return out
