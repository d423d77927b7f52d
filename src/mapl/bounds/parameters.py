"""The letters of the theorems: what each means, and which values make sense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mapl.errors import InvalidParameter

MOST = 10**12
"""Rows or questions; beyond it nobody has data, and a slip of the pen is likelier than a question."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One letter: its meaning, the values it may take in words, and the test for them."""

    meaning: str
    allowed: str
    fits: Callable[[Any], bool]


def _count(meaning: str, least: int = 1) -> Parameter:
    return Parameter(
        meaning,
        f"a whole number from {least} to {MOST:,}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= MOST,
    )


def _chance(meaning: str, least: float = 1e-12) -> Parameter:
    return Parameter(meaning, f"a number from {least:g} to below 1", lambda value: least <= value < 1)


PARAMETERS = {
    "n": _count("private rows"),
    "m": _count("questions, that is public rows to be labelled"),
    "vc": _count("VC dimension of the class that teachers and student learn"),
    "cutoff": _count("T: abstentions that the algorithm allows for"),
    "teachers": _count("number of teachers"),
    "mistakes": _count("questions that each teacher may get wrong", least=0),
    "xi": Parameter(
        "share of the teachers that makes a question contested",
        "a number above 0 and at most 1/2",
        lambda value: 0 < value <= 0.5,
    ),
    "epsilon": Parameter("privacy budget", "a number from 1e-6 to 10,000", lambda value: 1e-6 <= value <= 1e4),
    "delta": _chance("failure probability of the privacy budget", 1e-100),
    "beta": _chance("failure probability of the promise on accuracy"),
    "alpha": _chance("accuracy: how far above the best of the class a classifier may err"),
    "gamma": Parameter(
        "error of the best classifier of the class", "a number from 0 to below 1", lambda value: 0 <= value < 1
    ),
    "constants": Parameter(
        "whose noise, threshold and number of teachers: derived here, or printed in BTT18",
        "derived or printed",
        lambda value: value in ("derived", "printed"),
    ),
}


def check(**given: float | str) -> None:
    """Refuse values that are out of their letter's range, by name."""
    for name, value in given.items():
        parameter = PARAMETERS[name]
        if not parameter.fits(value):
            raise InvalidParameter(f"{name} is {value}; it must be {parameter.allowed} ({parameter.meaning}).")
