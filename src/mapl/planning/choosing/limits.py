"""How many abstentions to allow, by forecast, where the user left it open."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mapl.errors import CannotCalibrate
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.mechanisms.tables.rungs import MOST_RUNGS
from mapl.mechanisms.votes.ladder import MOST_ABSTENTIONS, Ladder, design
from mapl.mechanisms.votes.threshold_ladder import ThresholdLadder
from mapl.planning.choosing.expectation import Expected, expect
from mapl.planning.choosing.forecast import Forecast
from mapl.types import Budget

USEFUL = 0.5
"""A limit is considered only if a unanimous vote would be answered with at least this probability."""
MOST_THRESHOLD_ABSTENTIONS = 7
MANY_TEACHERS, MANY_QUESTIONS = 2000, 2000
ROBUST = 0.999
COARSE, FINE = 3.2, 1.35
"""Ratios between limits that are tried: everywhere first, then around the best."""


def best_limit(name: str, task: Task, agreement: Expected, given: dict[str, Any]) -> tuple[AnyMechanism, int]:
    """Calibrate a mechanism for many limits and return the one expected to publish the winner most often."""
    candidates: list[tuple[float, int, AnyMechanism]] = []
    last = ""
    most = MOST_THRESHOLD_ABSTENTIONS if name == "threshold-ladder" else MOST_ABSTENTIONS
    # Pricing a noisy max of three or more classes, or a long table, takes a second, so fewer limits are tried.
    slow = (name == "ladder-then-max" and task.n_classes > 2) or task.n_teachers > MANY_TEACHERS
    tried = 4 if slow else 14 if task.n_queries <= MANY_QUESTIONS else 20
    for limit in _limits(task.n_queries, most, tried):
        try:
            mechanism = make(name, task, max_abstentions=limit, **given)
        except CannotCalibrate as refusal:
            last = str(refusal)
            continue
        if candidates and mechanism.chance_if_unanimous(task.n_teachers, task.n_classes) < USEFUL:
            break  # larger limits only need larger distances
        candidates.append((expect(mechanism, task, agreement).winners, limit, mechanism))
    if not candidates:
        raise CannotCalibrate(last)
    _, limit, mechanism = max(candidates, key=lambda c: c[0])
    return mechanism, limit


def _limits(n_queries: int, most: int, tried: int) -> list[int]:
    return sorted({round(t) for t in np.geomspace(1, min(n_queries, most), tried)})


def best_ladder(task: Task, agreement: Expected) -> tuple[Ladder, Forecast]:
    """Return the ladder that is expected to answer most; its tables are kept for other tasks of the same budget."""
    tried: dict[int, tuple[float, Ladder, Forecast]] = {}
    highest = min(task.n_queries, MOST_ABSTENTIONS)
    useful = highest

    def attempt(limit: int) -> None:
        nonlocal useful
        limit = min(max(1, limit), useful)
        if limit in tried:
            return
        try:
            ladder = ladder_for(task.budget, limit, rungs_for(task.n_teachers))
        except CannotCalibrate:
            if not tried:
                raise
            useful = min(useful, limit - 1)
            return
        if tried and ladder.chance_if_unanimous(task.n_teachers, task.n_classes) < USEFUL:
            useful = min(useful, limit - 1)  # larger limits only need larger distances
            return
        made = expect(ladder, task, agreement)
        tried[limit] = (made.answered, ladder, made)

    def best() -> int:
        return max(tried, key=lambda t: tried[t][0])

    step = 1.0
    while step < highest and step <= useful:
        attempt(round(step))
        step *= COARSE
    attempt(highest)
    for ratio in (COARSE**0.5, FINE):
        middle = best()
        attempt(round(middle / ratio))
        attempt(round(middle * ratio))
    # Votes never turn out exactly as declared: a larger limit that costs next to nothing keeps a run from halting.
    most = tried[best()][0]
    _, ladder, made = tried[max(t for t in tried if tried[t][0] >= ROBUST * most)]
    return ladder, made


def best_threshold_ladder(task: Task, agreement: Expected) -> tuple[ThresholdLadder, Forecast]:
    """Return the threshold-ladder that is expected to answer most."""
    tried: list[tuple[ThresholdLadder, Forecast]] = []
    for limit in sorted({min(t, task.n_queries) for t in (1, 2, 4, MOST_THRESHOLD_ABSTENTIONS)}):
        made = threshold_ladder_for(task.budget, limit)
        tried.append((made, expect(made, task, agreement)))
        if tried[-1][1].answered < 0.8 * tried[0][1].answered:
            break
    return max(tried, key=lambda m: m[1].answered)


@lru_cache(maxsize=256)
def ladder_for(budget: Budget, limit: int, reach: int) -> Ladder:
    """Build and certify a ladder; it serves any number of teachers, so one is kept for many."""
    return Ladder.built(design(budget, limit, reach), limit, reach, budget)


@lru_cache(maxsize=64)
def threshold_ladder_for(budget: Budget, limit: int) -> ThresholdLadder:
    """Build and certify a threshold-ladder, which does not depend on the number of teachers."""
    return ThresholdLadder.for_task(Task(budget, 1, 2, 1), max_abstentions=limit)


def rungs_for(n_teachers: int) -> int:
    """Return a number of rungs, rounded up so that similar numbers of teachers share a table."""
    reach = 32
    while reach < n_teachers // 2 + 1:
        reach *= 2
    return min(reach, MOST_RUNGS)
