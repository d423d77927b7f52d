"""Noise conditions that can be measured: how clearly teachers vote, and how sure labels are.

Everything here is arithmetic on PUBLIC or held-out rows; what comes of private rows or votes would be private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from mapl.errors import InvalidData
from mapl.planning.votes.halving import halved_margins
from mapl.types import Counts, Floats

FEWEST_ROWS = 100
LEVELS = 25
LOWEST, HIGHEST = 0.01, 0.3
"""Between these shares of the rows, those with the least sure labels, the Tsybakov parameter is fitted."""
ROWS_AT_LOWEST = 10
NARROWEST = 2.0
"""The shares must span at least this factor, or a slope would be a guess."""


@dataclass(frozen=True, slots=True, eq=False)
class MarginCurve:
    """The approximate high-margin condition, measured: nu(Delta) = P(margin(x) <= Delta), by rows.

    The margin of x is half of how far the likeliest vote of a teacher h trained on n rows leads the next likeliest.
    Of two classes that is Delta_n(x) = |E h(x) - 1/2| (Liu et al., AISTATS 2021, Definition 10, with its inequality
    the right way round).

    Parameters
    ----------
    margins
        An estimate for each row, in ascending order.
    n_teachers
        How many teachers voted; one margin is uncertain by about 1 / (2 sqrt(n_teachers)).
    n_classes
        Between how many classes they chose.
    """

    margins: Floats
    n_teachers: int
    n_classes: int = 2

    @classmethod
    def of_counts(cls, counts: Counts) -> Self:
        """Measure on counts of votes, a row for each question and a column for each class."""
        if counts.ndim != 2 or counts.shape[1] < 2 or not len(counts):
            raise InvalidData(
                f"The vote counts have shape {counts.shape}; give one row for each question and one column for "
                "each of two or more classes."
            )
        totals = counts.sum(axis=1, dtype=np.int64)
        if counts.min() < 0 or (totals != totals[0]).any():
            raise InvalidData(
                "The vote counts are negative or differ in their totals; every teacher must vote once on every row."
            )
        return cls(np.sort(halved_margins(counts)), int(totals[0]), counts.shape[1])

    @property
    def n_rows(self) -> int:
        return len(self.margins)

    def nu(self, margin: float) -> float:
        """Return the share of rows whose margin is at most this one."""
        # Estimates are averages of fractions; what they lose in the last digits must not move a row.
        return float(np.searchsorted(self.margins, margin + 1e-12, side="right")) / self.n_rows

    def interval(self, margin: float, *, confidence: float = 0.95) -> tuple[float, float]:
        """Return Wilson's interval for nu: what other rows would give, with the same teachers."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        share, n = self.nu(margin), self.n_rows
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class TsybakovFit:
    """An estimate of the Tsybakov noise condition in Liu's form: Dis(h, Bayes) <= eta (excess risk of h)^tau.

    Parameters
    ----------
    tau
        From 0 (nothing is known) to 1 (bounded noise): P(|r(x) - 1/2| <= t) grows like t^(tau / (1 - tau)).
    eta
        The smallest one that fits all rows, given tau; at least 1.
    low, high
        The interval of tau at ``confidence``, from drawing the rows again. It does not know how wrong the estimated
        r is.
    lowest, highest
        The shares of rows, least sure first, between which the curve was fitted.
    """

    tau: float
    eta: float
    low: float
    high: float
    confidence: float
    lowest: float
    highest: float


def fit_tsybakov(
    regression: Floats, *, resolution: float = 0.0, confidence: float = 0.9, n_draws: int = 200, seed: int = 0
) -> TsybakovFit:
    """Fit a line to the log-log curve of |r(x) - 1/2| against the share of rows that are less sure.

    If P(|r - 1/2| <= t) = C t^(tau / (1 - tau)), the margin at share q is (q / C)^((1 - tau) / tau): a line of
    slope b = (1 - tau) / tau, so tau = 1 / (1 + b). Both ends are reached: equal margins give 1, and exact coins 0.
    Then eta is the largest D / e(D)^tau over all shares D, where e(D) = 2 * (sum of the D smallest margins) is the
    least excess risk that a classifier can have which differs from Bayes on a share D.

    Parameters
    ----------
    regression
        Estimates of r(x) = P(y = 1 | x) on rows that the estimate was not made from.
    resolution
        The typical error of these estimates. Margins below it are noise, and are left out of the fit.
    n_draws
        How often the rows are drawn again for the interval.
    """
    r = np.asarray(regression, dtype=np.float64)
    if r.ndim != 1 or len(r) < FEWEST_ROWS:
        raise InvalidData(f"tau needs r(x) on at least {FEWEST_ROWS} rows in one column; give more rows.")
    if not ((r >= 0) & (r <= 1)).all():
        raise InvalidData("r(x) is a probability; every estimate of it must lie in [0, 1].")
    margins = np.sort(np.abs(r - 0.5))
    lowest = max(LOWEST, ROWS_AT_LOWEST / len(r), float(np.mean(margins <= resolution)) if resolution else 0.0)
    if lowest * NARROWEST > HIGHEST:
        raise InvalidData(
            f"tau cannot be told: {lowest:.0%} of the rows have labels as unsure as the estimate of r(x) itself, "
            f"which is off by about {resolution:.2g}. Give more rows, so that r(x) is estimated better."
        )
    shares = np.geomspace(lowest, HIGHEST, LEVELS)
    tau = _tau(margins, shares)
    rng = np.random.default_rng(seed)  # draws public rows again; it protects nobody
    drawn = [_tau(np.sort(rng.choice(margins, len(margins))), shares) for _ in range(n_draws)]
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2]) if drawn else (0.0, 1.0)
    return TsybakovFit(tau, _eta(margins, tau, lowest), float(low), float(high), confidence, lowest, HIGHEST)


def _tau(margins: Floats, shares: Floats) -> float:
    at = np.quantile(margins, shares)
    if at[0] <= 0:
        return 0.0
    slope = np.polyfit(np.log(shares), np.log(at), 1)[0]
    return float(1 / (1 + max(0.0, slope)))


def _eta(margins: Floats, tau: float, lowest: float) -> float:
    if tau == 0:
        return 1.0
    first = max(1, math.ceil(lowest * len(margins)))
    share = np.arange(first, len(margins) + 1) / len(margins)
    excess = 2 * np.cumsum(margins)[first - 1 :] / len(margins)
    return max(1.0, float(np.max(share / excess**tau)))
