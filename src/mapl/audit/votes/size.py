"""How many teachers an audit needs to see everything of a mechanism, and no more than it can enumerate."""

from __future__ import annotations

import math
from collections.abc import Callable

from mapl.audit.votes.twins import MEASURES_DISTANCE
from mapl.mechanisms import AnyMechanism

PLENTY = 4_000
FEW, MANY = 100, 2_000
"""Histograms of three or more classes: laws of distances collapse to a few pairs, others do not."""
USUAL, MOST = 60, 600


def enough_teachers(kind: type, calibrate: Callable[[int], AnyMechanism], n_classes: int) -> int:
    """Return a number of teachers at which the distances of a mechanism's table can be reached, if possible.

    `kind` is the mechanism's class, and `calibrate` makes one for a number of teachers.
    """
    by_distance = issubclass(kind, MEASURES_DISTANCE)
    needed = calibrate(PLENTY).required_distance(0.99) if by_distance else None
    wanted = USUAL if needed is None else min(MOST, 2 * needed + 2)
    most = MANY if by_distance else FEW
    while n_classes > 2 and math.comb(wanted + n_classes - 1, n_classes - 1) > most and wanted > 2:
        wanted -= 1
    return wanted
