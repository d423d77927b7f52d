"""Of plans that are nearly as good as the best one, that with the fewest teachers."""

from __future__ import annotations

import math
from collections.abc import Callable

from mapl.planning.planner.outlook import Outlook

OutlookMerit = Callable[[Outlook], tuple[float, ...]]
STEPS = 5
"""How often a number of teachers between two that were tried is tried; accuracy is nearly straight in its log."""


def fewest_teachers(
    found: list[Outlook], best: Outlook, near: float, look: Callable[[int], list[Outlook]], merit: OutlookMerit
) -> Outlook:
    """Return the plan with the fewest teachers that comes within `near` of the best accuracy of its kind.

    It comes no nearer than it has to, numbers of teachers being looked at in ever finer steps: were it as near as a
    coarse grid happens to allow, a larger budget could lead to a plan that is forecast worse.

    Parameters
    ----------
    look
        Estimates the plans of one number of teachers.
    """
    least = (best.student_accuracy or 0.0) - near
    by_teachers: dict[int, Outlook] = {}
    for one in found:
        known = by_teachers.get(one.n_teachers)
        if one.family == best.family and (known is None or merit(one) > merit(known)):
            by_teachers[one.n_teachers] = one
    enough = min(k for k, one in by_teachers.items() if (one.student_accuracy or 0.0) >= least)
    stuck = 0
    for _ in range(STEPS):
        fewer = max((k for k in by_teachers if k < enough), default=None)
        between = None if fewer is None else _between(by_teachers[fewer], by_teachers[enough], least, 0.5**stuck)
        if between is None:
            break
        there = [one for one in look(between) if one.family == best.family]
        if not there:
            break
        by_teachers[between] = max(there, key=merit)
        reached = (by_teachers[between].student_accuracy or 0.0) >= least
        enough, stuck = (between, stuck + 1) if reached else (enough, 0)
    return by_teachers[enough]


def _between(few: Outlook, many: Outlook, wanted: float, trust: float) -> int | None:
    """Return the number of teachers that should just reach the wanted accuracy, None if there is none between.

    A line lies below the accuracy, which bends: where one end stays and stays it is trusted less (Illinois).
    """
    lacking = trust * (wanted - (few.student_accuracy or 0.0))
    spare = (many.student_accuracy or 0.0) - wanted
    share = min(max(lacking / (lacking + spare), 0.05), 0.95) if lacking + spare > 0 else 0.5
    exact = few.n_teachers * (many.n_teachers / few.n_teachers) ** share
    scale = int(10 ** max(0, math.floor(math.log10(exact)) - 2))  # three digits are enough
    teachers = math.ceil(exact / scale) * scale
    return teachers if few.n_teachers < teachers < many.n_teachers else None
