"""How much each word speaks for each class, by noisy sums: the mean of what is likely given them.

Where one class is commoner, most words stand in its records most often and tell nothing by it: what they tell is
how far they lie from the usual share. Most words are rare and their sums are noise. How often words occur is
learned from the noisy totals themselves, by expectation and maximisation on a grid of totals, and so is how much
words differ between classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mapl.types import Floats

SPREADS = (0.03, 0.06, 0.12, 0.25, 0.5)
N_TOTALS, ITERATIONS, MOST_FITTED = 36, 30, 20_000

CLEAR = 5.0
"""Totals of so many deviations of their noise tell how often words usually stand in each class."""

SEEN = 2.0
"""Totals of fewer deviations are taken for nothing. With 1 students are level, and words that nobody has lean to
the rare class by their noise; with 3, three classes lose."""


@dataclass(frozen=True, slots=True, eq=False)
class Polarities:
    """How much each word speaks for each class, one line per word, and the deviation that noise gives every line.

    0 says that it stands in records of every class as often as all words do; of two even classes, a word of 1 is
    in records of one alone. ``believed`` is what the sum of a word was multiplied by, and ``usual`` what was then
    taken off it for each time that it occurs.
    """

    means: Floats
    noise: Floats
    believed: Floats
    usual: Floats


@dataclass(frozen=True, slots=True, eq=False)
class WordSums:
    """Noisy sums over records: one line per word.

    Parameters
    ----------
    signed
        How often the word stands in records of each class, beyond an even share of all.
    totals
        How often it stands in any.
    signed_noise, total_noise
        The deviations of the noise of both.
    grain
        The mean entry of a record's vector: drawing records scatters sums by its root.
    """

    signed: Floats
    totals: Floats
    signed_noise: float
    total_noise: float
    grain: float

    def polarities(self) -> Polarities:
        """Return the posterior mean of every word's polarity in every class.

        How much of a sum is believed follows from sums itself; for the deviation it is taken as it is.
        """
        usual = np.outer(self.totals > SEEN * self.total_noise, self.usual())
        beyond = self.signed - self.totals[:, None] * usual
        noise = np.hypot(self.signed_noise, np.sqrt((usual**2).mean(axis=1)) * self.total_noise)
        believed = BeyondUsual(beyond, self.totals, noise, self.total_noise, self.grain).believed()
        return Polarities(believed[:, None] * beyond, believed * noise, believed, believed[:, None] * usual)

    def usual(self) -> Floats:
        """Return how often all words stand in each class, beyond an even share, by those that are no noise."""
        clear = self.totals > CLEAR * self.total_noise
        return np.asarray(self.signed[clear].sum(axis=0) / max(float(self.totals[clear].sum()), self.total_noise))


@dataclass(frozen=True, slots=True, eq=False)
class BeyondUsual:
    """How often words stand in records of each class, beyond the usual for as often as they occur.

    Parameters
    ----------
    signed, totals
        One line per word: that, and how often it occurs.
    signed_noise
        The deviation of the noise of each line.
    total_noise, grain
        As in `WordSums`.
    """

    signed: Floats
    totals: Floats
    signed_noise: Floats
    total_noise: float
    grain: float

    @property
    def n_classes(self) -> int:
        return int(self.signed.shape[1])

    def believed(self) -> Floats:
        """Return what each word's sums are multiplied by to become what is likely of its polarity."""
        totals = self._grid()
        some = np.random.default_rng(0).permutation(len(self.totals))[:MOST_FITTED]
        part = replace(
            self, signed=self.signed[some], totals=self.totals[some], signed_noise=self.signed_noise[some]
        )
        fits = [part._fit(totals, spread) for spread in SPREADS]
        _, spread, prior = max(fits, key=lambda fit: fit[0])
        scores = self._likelihoods(totals, spread) + np.log(prior)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        gain = spread * totals * self._evenness() ** 0.5 / self._variance(totals, spread)
        return np.asarray((chances * gain).sum(axis=1))

    def _grid(self) -> Floats:
        least = 0.5 * self.total_noise / (1 + self.total_noise / 4)
        most = max(float(self.totals.max()), 2 * self.total_noise)
        return np.concatenate([[0.0], np.geomspace(least, most, N_TOTALS)])

    def _evenness(self) -> float:
        """The variance of a label as zeros and ones where classes are even."""
        return (1 - 1 / self.n_classes) / self.n_classes

    def _variance(self, totals: Floats, spread: float) -> Floats:
        """Return the variance of the signed sums of every word with every total."""
        drawn = self._evenness() * (spread * totals**2 + self.grain * totals)
        return np.asarray(drawn + self.signed_noise[:, None] ** 2)

    def _likelihoods(self, totals: Floats, spread: float) -> Floats:
        """Return the log-likelihood of every word's sums at every total; of C classes C - 1 are independent."""
        variance, n_classes = self._variance(totals, spread), self.n_classes
        squares = np.einsum("ij,ij->i", self.signed, self.signed)[:, None] * (n_classes - 1) / n_classes
        of_total = (self.totals[:, None] - totals) ** 2 / self.total_noise**2
        return np.asarray(-0.5 * (of_total + (n_classes - 1) * np.log(variance) + squares / variance))

    def _fit(self, totals: Floats, spread: float) -> tuple[float, float, Floats]:
        """Return how likely the sums are at one spread of polarities, and the likeliest shares of totals."""
        likelihoods = self._likelihoods(totals, spread)
        top = likelihoods.max(axis=1, keepdims=True)
        weights = np.exp(likelihoods - top)
        shares = np.full(len(totals), 1 / len(totals))
        for _ in range(ITERATIONS):
            parts = weights * shares
            parts /= parts.sum(axis=1, keepdims=True)
            shares = parts.mean(axis=0) + 1e-12
            shares /= shares.sum()
        return float((np.log(weights @ shares) + top[:, 0]).sum()), spread, shares
