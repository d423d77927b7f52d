"""The slope and the offsets of scores under which probabilities agree with totals of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from mapl.data.moments.probabilities import add_columns
from mapl.students.probabilities.log_sums import log_sums, softmax
from mapl.types import Floats

SLOPES = (0.05, 3.0)
"""No slope is taken beyond these: scores are never turned round."""

SLOPE_SPREAD, OFFSET_SPREAD = 0.15, 0.5
"""How far from 1 a slope and from 0 an offset are likely to be, before anything is known of them."""

LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """What is known, without bias, of the labels of some people, and how uncertain it is.

    Parameters
    ----------
    slope
        The mean over people of the product of scores and labels, a label being zeros and a one minus an even share.
    classes
        The mean of the labels, for each class; or of their product with another number, `along`.
    slope_noise, class_noise
        The variances of both by noise, of people who were drawn and of public rows.
    """

    slope: float
    classes: Floats
    slope_noise: float
    class_noise: Floats


def find_line(
    scores: Floats,
    counts: Floats,
    totals: Totals,
    along: Floats | None = None,
    *,
    steepest: float = SLOPES[1],
    offset_spread: float = OFFSET_SPREAD,
    slope_alone: bool = False,
) -> tuple[float, Floats]:
    """Return slope and offsets: what is likely given the totals.

    The likelihood of labels depends on them through these totals alone, so that finding both is a logistic
    regression of a single column; noise in the totals counts against going far.

    Parameters
    ----------
    scores
        One line per public row, one column per class; what classes have in common is left out.
    counts
        How much each row counts; they add up to 1.
    along
        What an offset is multiplied by in each row; 1 if None.
    steepest
        The largest slope that is taken.
    offset_spread
        How far from 0 an offset is likely to be.
    slope_alone
        Whether offsets stay 0, so that the likeliest class of every row is the one with the highest score.
    """
    n_classes = scores.shape[1]
    along = np.ones(len(scores)) if along is None else along
    chances = softmax(scores)
    steep = max(float(counts @ (add_columns(chances * scores**2) - add_columns(chances * scores) ** 2)), LEAST)
    even = (counts * along**2) @ (chances * (1 - chances)) * n_classes / (n_classes - 1)
    even = np.maximum(even, LEAST)
    slope_penalty = totals.slope_noise / steep / SLOPE_SPREAD**2
    penalties = totals.class_noise / even / offset_spread**2

    def loss(given: Floats) -> tuple[float, Floats]:
        slope, offsets = given[0], given[1:]
        moved = slope * scores + along[:, None] * offsets
        level = log_sums(moved)
        beyond = np.exp(moved - level[:, None]) - 1 / n_classes
        value = float(
            counts @ (level - add_columns(moved) / n_classes) - slope * totals.slope - offsets @ totals.classes
        )
        value += 0.5 * float(slope_penalty * (slope - 1) ** 2 + penalties @ offsets**2)
        of_slope = float(counts @ add_columns(beyond * scores)) - totals.slope + slope_penalty * (slope - 1)
        of_offsets = (counts * along) @ beyond - totals.classes + penalties * offsets
        return value, np.concatenate([[of_slope], of_offsets])

    start = np.concatenate([[1.0], np.zeros(n_classes)])
    free = (0.0, 0.0) if slope_alone else (None, None)
    bounds = [(SLOPES[0], steepest), *(free for _ in range(n_classes))]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), np.asarray(found[1:])
