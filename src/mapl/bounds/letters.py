"""The further letters of Liu et al., Dagan and Feldman, and of the disagreement coefficient."""

from __future__ import annotations

import math

from mapl.bounds.parameters import PARAMETERS, Parameter
from mapl.errors import InvalidParameter


def _share(meaning: str) -> Parameter:
    return Parameter(meaning, "a number from 0 to 1", lambda value: 0 <= value <= 1)


LETTERS: dict[str, Parameter] = {
    **PARAMETERS,
    "rows_each": Parameter("rows of one teacher", PARAMETERS["n"].allowed, PARAMETERS["n"].fits),
    "tau": _share("exponent of Tsybakov's noise condition; 1 is bounded noise, 0 none at all"),
    "eta": Parameter(
        "factor of Tsybakov's noise condition", "a finite number of at least 1", lambda value: 1 <= value < math.inf
    ),
    "nu": _share("share of questions whose expected margin is small"),
    "margin": Parameter(
        "expected margin: distance of the expected vote from one half; of more classes, half of the winner's lead",
        "a number above 0 and at most 1/2",
        lambda value: 0 < value <= 0.5,
    ),
    "classes": Parameter(
        "number of classes",
        "a whole number from 2 to 1,000",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 2 <= value <= 1000,
    ),
    "kind": Parameter(
        "which classifiers: thresholds, intervals, or any of the given VC dimension",
        "thresholds, intervals or any",
        lambda value: value in ("thresholds", "intervals", "any"),
    ),
    "best_disagreement": _share("disagreement of the class's nearest classifier with the infinite ensemble"),
    "theta": Parameter(
        "disagreement coefficient", "a finite number of at least 1", lambda value: 1 <= value < math.inf
    ),
    "radius": Parameter(
        "smallest distance from the best classifier that counts", "a number from 0 to below 1", lambda v: 0 <= v < 1
    ),
    "quantile": Parameter(
        "share of the rows below the best threshold", "a number above 0 and below 1", lambda value: 0 < value < 1
    ),
    "width": Parameter(
        "share of the rows inside the best interval", "a number above 0 and at most 1", lambda value: 0 < value <= 1
    ),
    "dimension": Parameter(
        "number of coordinates",
        "a whole number from 2 to 1,000,000",
        lambda value: isinstance(value, int) and 2 <= value <= 10**6,
    ),
    "voters": Parameter(
        "number of equally good classifiers",
        "an odd whole number of at least 3",
        lambda value: isinstance(value, int) and value >= 3 and value % 2 == 1,
    ),
    "flip": Parameter(
        "chance of flipping a prediction", "a number above 0 and below 1/2", lambda value: 0 < value < 0.5
    ),
    "teacher_error": _share("mean error of the teachers"),
    "stability": Parameter(
        "how much one row may move the probability of a prediction",
        "a number above 0 and below 1",
        lambda value: 0 < value < 1,
    ),
}


def check_letters(**given: float | str) -> None:
    """Refuse values that are out of their letter's range, by name."""
    for name, value in given.items():
        letter = LETTERS[name]
        if not letter.fits(value):
            raise InvalidParameter(f"{name} is {value}; it must be {letter.allowed} ({letter.meaning}).")
