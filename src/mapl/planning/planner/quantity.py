"""A quantity that is left open: which values are tried, how a value is said, and what the quantity is called."""

from __future__ import annotations

import math

from mapl.planning.planner.outlook import limits_for
from mapl.planning.planner.question import MOST, MOST_EPSILON, Question, Unknown, Wish
from mapl.planning.planner.search import numbers_between

LEAST_EPSILON = 0.05
MOST_QUESTIONS = 10**6
MOST_ROWS = 10**9
TEACHERS_TRIED = 24


def candidates_for(question: Question, unknown: Unknown) -> list[int]:
    """Return the numbers of teachers, or the limits on abstentions, that are tried."""
    if unknown == "max_abstentions":
        assert question.queries is not None
        return list(limits_for(question.queries))
    if question.learning_curve is not None:
        return numbers_between(*question.range_of_teachers(), TEACHERS_TRIED)
    return numbers_between(1, question.rows or 10**6, TEACHERS_TRIED)


def range_of(question: Question, unknown: Unknown) -> tuple[float, float]:
    """Return between which values a quantity is looked for."""
    if unknown == "epsilon":
        return LEAST_EPSILON, MOST_EPSILON
    if unknown == "rows":
        return float(max(question.teachers or 10, 10)), float(MOST_ROWS)
    return float(max(1, question.max_abstentions or 1)), float(MOST_QUESTIONS)


def start_of(question: Question, unknown: Unknown) -> float:
    """Return where looking for a quantity begins."""
    given = getattr(question, unknown)
    return float(given if given is not None else {"epsilon": 1.0, "rows": 10_000, "queries": 1000}[unknown])


def is_most_wanted(unknown: Unknown, wish: Wish) -> bool:
    """Say whether the most of a quantity is wanted: of questions, where a share of them is."""
    return unknown == "queries" and wish.is_share


def as_whole(unknown: Unknown, value: float) -> float:
    """Return a value as a whole number, but for epsilon."""
    return value if unknown == "epsilon" else max(1, round(value))


def as_said(unknown: Unknown, value: float) -> float:
    """Return a value to try that can be said without changing it."""
    return round_up(unknown, value) if unknown == "epsilon" else as_whole(unknown, value)


def round_up(unknown: Unknown, value: float) -> float:
    """Round up to three digits, as a person would say it."""
    scale = 10.0 ** (math.floor(math.log10(value)) - 2)
    rounded = round(math.ceil(value / scale - 1e-9) * scale, 12)
    return rounded if unknown == "epsilon" else float(math.ceil(rounded))


def step_further(unknown: Unknown, value: float, factor: float, *, is_most: bool) -> float:
    """Return the next value to try."""
    if is_most:
        return float(min(math.floor(value / factor), math.ceil(value) - 1))
    if unknown == "epsilon":
        return round_up(unknown, value * factor)
    return float(max(math.ceil(value * factor), math.floor(value) + 1))


def is_allowed(question: Question, unknown: Unknown, value: float) -> bool:
    """Say whether a value is within what is looked at."""
    if unknown == "teachers":
        return value <= min(question.rows or MOST, MOST)
    if unknown == "max_abstentions":
        return value <= min(question.queries or MOST, MOST)
    low, high = range_of(question, unknown)
    return low <= value <= high


def spoken_name(name: str) -> str:
    """Return what a quantity is called in a sentence."""
    return {
        "epsilon": "epsilon",
        "rows": "number of rows",
        "queries": "number of questions",
        "teachers": "number of teachers",
        "max_abstentions": "limit on abstentions",
    }[name]
