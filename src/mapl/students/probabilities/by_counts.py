"""Probabilities of a student of cells, by the counts of cells that it did not learn from.

A lesson leaves out negative counts, which would have no meaning as weights, and with them what cancels the noise of
the others: classes that are rare look more frequent than they are. Sums of all counts, negative ones too, have no
such bias. So the counts judge probabilities like they judge predictions: as labels of so many people, of cells
whose counts had no part in the model.

They judge by a slope alone. Such cells are harder for a model than those it learned from, and offsets that suit
them move decisions the wrong way elsewhere; a slope moves none, so that the model's own classes are the likeliest.
"""

from __future__ import annotations

import math

import numpy as np

from mapl.students.probabilities.line import Totals, find_line
from mapl.students.probabilities.scale import ScoreScale
from mapl.types import Floats

FEWEST = 3.0
"""How many deviations of its noise the number of people has to be, to say anything about their classes."""


def scale_by_counts(scores: Floats, shares: Floats, deviation: float, members: Floats) -> ScoreScale | None:
    """Return the slope under which noisy counts are likeliest, None where they are hardly more than noise.

    Parameters
    ----------
    scores
        Of public rows, by models that did not learn from the counts of their cells.
    shares
        Of each row, its part of the noisy counts of its cell, as they are: negative ones too.
    deviation
        That of the noise of a count.
    members
        How many rows share the cell of each row, and hence its counts.
    """
    n_classes = scores.shape[1]
    people = float(shares.sum())
    n_cells = float((1 / members).sum())
    if people < FEWEST * deviation * math.sqrt(n_classes * n_cells):
        return None
    counts = shares.sum(axis=1) / people
    noise = deviation**2 / people**2
    square = float(((scores**2).sum(axis=1) / members).sum())
    totals = Totals(
        slope=float((shares * scores).sum()) / people,
        classes=shares.sum(axis=0) / people - 1 / n_classes,
        slope_noise=noise * square + float(np.abs(counts) @ (scores**2).mean(axis=1)) / people,
        class_noise=np.full(n_classes, noise * n_cells + 1 / (n_classes * people)),
    )
    slope, offsets = find_line(scores, counts, totals, slope_alone=True)
    return ScoreScale(slope, tuple(offsets.tolist()))
