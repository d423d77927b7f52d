"""A linear model whose probabilities agree with what the first sums say about labels.

Rounds after the first cut off what somebody adds, and that bites where a model is most wrong: people of a rare
class count less than they should, and their probabilities come out too small. At an even guess nobody is cut off.
So the first sums tell without bias how labels go along with any public direction. Of two they are asked here, that
of the model's own scores, which gives a slope, and that of a constant, which gives the totals of the classes. All
of it is post-processing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mapl.data.moments.probabilities import add_columns
from mapl.students.moments.rounds import Refined, centre_classes
from mapl.students.probabilities.line import Totals, find_line
from mapl.students.probabilities.log_sums import softmax
from mapl.types import Floats, Singles

RIDGE = 4.0
"""What keeps the constant short, in squares of the noise of a mean: a longer one would gather more of it."""

OFFSET_SPREAD = 0.1
"""How far from 0 an offset of a class is likely to be. On parts of train splits longer ones cost small tables up to
0.7 points at epsilon 0.1, by noise in their totals, and shorter ones some of the balance of classes."""


def recalibrate(known: Refined, public: Singles, *, units: float, echo: float = 0.0) -> Refined:
    """Return the model with another slope and constant, a linear model of the same features.

    Parameters
    ----------
    public
        Vectors of public rows, of norm at most 1; rows that were made up have no place here.
    units
        About how many units there are.
    echo
        By how much sums over people overstate the mean product of scores and labels, because their own labels are
        part of their scores.
    """
    first, weights = known.rounds[0], known.weights
    n_public, n_classes = len(public), weights.shape[1]
    vectors, counts = public.astype(np.float64), np.full(n_public, 1 / n_public)
    scores = centre_classes(vectors @ weights)
    constant = find_constant(vectors, RIDGE * (first.noise / units) ** 2)
    along = vectors @ constant
    sums, chances = centre_classes(first.sums) / units, softmax(scores)
    noise = (first.noise / units) ** 2 * (1 - 1 / n_classes)
    surely = add_columns(chances * scores)
    totals = Totals(
        slope=float((weights * sums).sum()) - known.optimism / units - echo,
        classes=constant @ sums,
        slope_noise=noise * float((weights**2).sum())
        + float((add_columns(chances * scores**2) - surely**2).mean()) / units
        + float(surely.var()) / n_public,
        class_noise=noise * float(constant @ constant)
        + (chances * (1 - chances) * (along**2)[:, None]).mean(axis=0) * n_classes / (n_classes - 1) / units
        + chances.var(axis=0) / n_public,
    )
    slope, offsets = find_line(scores, counts, totals, along, offset_spread=OFFSET_SPREAD)
    scatter = None if known.scatter is None else slope * known.scatter
    return replace(known, weights=slope * weights + np.outer(constant, offsets), scatter=scatter)


def find_constant(vectors: Floats, ridge: float) -> Floats:
    """Return a direction along which all rows are nearly at 1, and on average exactly."""
    middle = vectors.mean(axis=0)
    gram = vectors.T @ vectors / len(vectors) + (ridge + 1e-9) * np.eye(len(middle))
    found = np.linalg.solve(gram, middle)
    level = float(middle @ found)
    return np.asarray(found / level if level > 0 else np.zeros_like(found))
