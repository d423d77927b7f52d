"""What a mechanism is expected to publish: exact expectation over the coins and a random order of questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected numbers of answers, of answers that give the teachers' winner, and of abstentions without answer."""

    answered: float
    winners: float
    abstained: float

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


def reached(questions: NDArray[np.int64], abstaining: Floats, max_abstentions: int) -> Floats:
    """Return for each group the chance that one of its questions is taken before the run halts.

    All orders of all questions are equally likely, and the run halts right after abstention number T.
    Toss every coin first, then order: if N of the *other* questions abstain, a question stands behind a
    uniform number of them, so it is taken with probability min(1, T / (N + 1)), whatever its own coin.
    N is a sum of binomials; its law comes from the characteristic function, one question left out.
    """
    total = int(questions.sum())
    size = 1 << max(1, total.bit_length())
    turn = np.exp(2j * np.pi * np.arange(size // 2 + 1) / size)
    with np.errstate(divide="ignore"):
        logs = np.log((1 - abstaining)[:, None] + abstaining[:, None] * turn[None, :])
    whole = questions @ np.where(np.isfinite(logs), logs, -1e3)
    taken = np.minimum(1.0, max_abstentions / np.arange(1, size + 1))
    out = np.empty(len(questions))
    for g in range(len(questions)):
        law = np.fft.irfft(np.exp(whole - logs[g]).conj(), size) if np.isfinite(logs[g]).all() else None
        if law is None:  # a coin with equal sides: its factor vanishes at one frequency, leave it out afresh
            others = questions.copy()
            others[g] -= 1
            law = np.fft.irfft(np.exp(others @ np.where(np.isfinite(logs), logs, -1e3)).conj(), size)
        out[g] = float(law[: total + 1] @ taken[: total + 1])
    return out
