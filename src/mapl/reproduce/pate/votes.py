"""The published votes of 250 teachers, and what PATE's analyses say that labels from them cost.

These prices depend on the votes: they are private themselves, and no promise of mapl's rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from mapl.reproduce.claim import Absent
from mapl.reproduce.effort import ReproductionEffort
from mapl.types import Floats

DELTA = 1e-5
ORDERS = np.concatenate([np.arange(1.5, 10, 0.25), np.arange(10, 100, 1.0), np.arange(100, 501, 10.0)])


@dataclass(frozen=True, slots=True)
class PublishedVotes:
    """Counts of votes by question and class, and the true labels."""

    counts: Floats
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, data: str, effort: ReproductionEffort) -> PublishedVotes:
        """Read the votes on some data, or say how to give them."""
        if effort.votes is None:
            raise Absent(
                "the rows of PATE are about votes of its authors' teachers; give the folder of "
                "mnist_250_teachers.npy, adult_250_teachers.npy and their labels with --votes."
            )
        files = [effort.votes / f"{data}_{what}.npy" for what in ("250_teachers", "labels")]
        if missing := [path.name for path in files if not path.is_file()]:
            raise Absent(f"{' and '.join(missing)} is not in the folder given with --votes.")
        counts, labels = (np.load(path, allow_pickle=False) for path in files)
        return cls(counts.astype(np.float64), labels.astype(np.int64))

    @property
    def accuracy(self) -> float:
        """How often the plurality is right."""
        return float(np.mean(self.counts.argmax(axis=1) == self.labels))

    def gaps(self, first: int | None = None) -> Floats:
        """Return by how much the winner leads each other class, for the first questions; the winner is left out."""
        counts = self.counts[:first]
        lead = counts.max(axis=1, keepdims=True) - counts
        lead[np.arange(len(counts)), counts.argmax(axis=1)] = np.inf
        return np.asarray(lead)


def laplace_price(gaps: Floats, gamma: float, *, moments: int = 8) -> float:
    """Return PATE-2017's epsilon for noisy max with Laplace noise of scale 1/gamma, by its first moments.

    Lemma 4: the winner loses with chance q at most the sum of (2 + gamma gap)/(4 e^(gamma gap)). Theorem 3: the
    l-th moment is ln((1 - q)((1 - q)/(1 - e^(2 gamma) q))^l + q e^(2 gamma l)) at most for small q, and
    2 gamma^2 l (l + 1) always.
    """
    with np.errstate(invalid="ignore"):
        lost = np.where(np.isinf(gaps), 0.0, (2 + gamma * gaps) / (4 * np.exp(gamma * gaps)))
    q = np.minimum(lost.sum(axis=1), 1 - 1 / gaps.shape[1])
    small = q < math.expm1(2 * gamma) / math.expm1(4 * gamma)
    found = []
    for moment in range(1, moments + 1):
        always = min(2 * gamma**2 * moment * (moment + 1), 2 * gamma * moment)
        part = np.where(small, q, 0.0)
        depends = np.log(
            (1 - part) * ((1 - part) / (1 - math.exp(2 * gamma) * part)) ** moment
            + part * math.exp(2 * gamma * moment)
        )
        total = np.where(small, np.minimum(depends, always), always).sum()
        found.append((float(total) + math.log(1 / DELTA)) / moment)
    return min(found)


def gaussian_costs(log_q: Floats, sigma: float) -> Floats:
    """Return PATE-2018's Renyi cost of a noisy max at each of `ORDERS`, one line for each question.

    Theorem 6: with mu2 = sigma sqrt(ln(1/q)), mu1 = mu2 + 1 and costs mu/sigma^2 at these orders, the cost at
    order a is ln((1 - q) A^(a-1) + q B^(a-1))/(a - 1), and a/sigma^2 always.
    """
    always = np.tile(ORDERS / sigma**2, (len(log_q), 1))
    with np.errstate(all="ignore"):
        second = sigma * np.sqrt(-log_q)[:, None]
        first = second + 1
        log = log_q[:, None]
        cost_1, cost_2 = first / sigma**2, second / sigma**2
        fits = (first >= ORDERS) & (second > 1) & (-log > cost_2)
        fits &= log <= (second - 1) * cost_2 - second * (np.log1p(1 / (first - 1)) + np.log1p(1 / (second - 1)))
        right = np.log1p(-np.exp(log))
        log_a = (ORDERS - 1) * (right - np.log1p(-np.exp((log + cost_2) * (1 - 1 / second))))
        log_b = (ORDERS - 1) * (cost_1 - log / (first - 1))
        depends = np.logaddexp(right + log_a, log + log_b) / (ORDERS - 1)
    depends = np.where(np.isneginf(log_q)[:, None], 0.0, depends)
    fits |= np.isneginf(log_q)[:, None]
    return np.where(fits & np.isfinite(depends), np.minimum(depends, always), always)


@dataclass(frozen=True, slots=True)
class Confident:
    """Confident noisy max: answer where the largest count, with noise of sigma_1, reaches a threshold."""

    threshold: float
    sigma_1: float
    sigma_2: float

    def passing(self, counts: Floats) -> Floats:
        """Return the chance that each question is answered."""
        return np.asarray(np.exp(log_ndtr((counts.max(axis=1) - self.threshold) / self.sigma_1)))

    def price(self, votes: PublishedVotes, questions: int, *, by_votes: bool = True) -> float:
        """Return the expected epsilon for the first questions, by the votes or whatever they are."""
        counts = votes.counts[:questions]
        score = (counts.max(axis=1) - self.threshold) / self.sigma_1
        passing = np.exp(log_ndtr(score))
        rarer = np.minimum(log_ndtr(score), log_ndtr(-score))
        lost = logsumexp(log_ndtr(-votes.gaps(questions) / (self.sigma_2 * math.sqrt(2))), axis=1)
        if not by_votes:
            rarer = lost = np.zeros(len(counts))
        tests = gaussian_costs(rarer, self.sigma_1 * math.sqrt(2))
        answers = gaussian_costs(np.minimum(lost, 0.0), self.sigma_2)
        total = tests.sum(axis=0) + passing @ answers
        return float((total + math.log(1 / DELTA) / (ORDERS - 1)).min())
