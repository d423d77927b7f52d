"""How soft labels are rounded and how many refusals are paid for, from public facts alone."""

from __future__ import annotations

import math

from mapl.errors import InvalidParameter, MaplError
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.mechanisms.scores.scores import TOP, ScoreGrid

USUAL_SPREAD = 0.15
"""The standard deviation of teachers' scores on one question that is assumed where nothing public tells it: about
that of logistic regression on shards of some eighty rows of Adult."""

WIDEST = TOP // 2
"""Wider cells would say less than a hard label."""

ALMOST_SURE = 0.9


def width_for(spread: float, n_queries: int, max_abstentions: int) -> int:
    """Return the width of cells, G = 2 t m / T with t^2 = 8 spread^2, in scores and at most half of their range.

    By Chebyshev at least 7/8 of the teachers are within t of their mean, so that a median is stable unless a
    boundary of its cell falls into an interval of length 2 t; with evenly shifted cells that befalls a share
    2 t / G of the questions, and G makes that T of them. A guess moves what is answered, not what is promised.

    >>> width_for(0.01, 1000, 500), width_for(0.15, 8000, 60)
    (114, 500)
    """
    if not 0 <= spread <= 1:
        raise InvalidParameter(f"The spread of scores is {spread}; a standard deviation of them lies in [0, 1].")
    wanted = 2 * math.sqrt(8) * spread * n_queries / max_abstentions
    return max(1, min(WIDEST, math.ceil(wanted * TOP)))


def grid_for(spread: float, n_queries: int, max_abstentions: int) -> ScoreGrid:
    """Return cells of that width, shifted from question to question."""
    return ScoreGrid(width_for(spread, n_queries, max_abstentions))


def abstentions_for(mechanism: str, task: Task) -> int:
    """Return the most refusals that leave a question answered almost surely on which all teachers agree.

    A mechanism that pays for more refusals asks for more agreement, and still answers more questions before it
    halts: on Adult eight times the refusals gave three times the answers. At least 1, at most a fifth of the
    questions.
    """

    def affordable(refusals: int) -> bool:
        try:
            made: AnyMechanism = make(mechanism, task, max_abstentions=refusals)
        except MaplError:
            return False
        return made.chance_if_unanimous(task.n_teachers, 2) >= ALMOST_SURE

    low, high = 1, max(1, task.n_queries // 5)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if affordable(middle) else (low, middle - 1)
    return low
