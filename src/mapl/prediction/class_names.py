"""Hypothesis classes by name, for the faces and the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses import (
    Halfspaces,
    HypothesisClass,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    Unions,
    conjunctions,
    decision_lists,
)

ON_ONE_FEATURE = ("thresholds", "intervals", "unions")
SIZED = {"unions": 2, "conjunctions": 2, "decision-lists": 2}
"""Names that take a size, such as unions:3, and the size they have without one."""

BY_NAME: dict[str, Callable[[int, int], HypothesisClass]] = {
    "thresholds": lambda width, _: Thresholds(),
    "stumps": lambda width, _: Stumps(width),
    "intervals": lambda width, _: Intervals(),
    "unions": lambda width, size: Unions(size),
    "rectangles": lambda width, _: Rectangles(tuple(range(width))),
    "halfspaces": lambda width, _: Halfspaces(width),
    "conjunctions": lambda width, size: conjunctions(width, max_literals=size),
    "decision-lists": lambda width, size: decision_lists(width, max_rules=size),
}


def hypotheses_of(given: Any, n_features: int) -> HypothesisClass:
    """Return the class of that name over so many features; an own class is itself.

    Examples
    --------
    >>> hypotheses_of("unions:3", 1).vc, hypotheses_of("halfspaces", 2).name
    (6, 'halfspaces')
    """
    if all(hasattr(given, needed) for needed in ("patterns", "n_patterns", "vc", "name")):
        own: HypothesisClass = given
        return own
    name, _, size = str(given).partition(":")
    if name not in BY_NAME or (size and (name not in SIZED or not size.isdecimal() or int(size) < 1)):
        raise InvalidParameter(
            f"The hypothesis class is {given!r}; choose one of {', '.join(BY_NAME)}, with a size for "
            f"{', '.join(SIZED)} (such as unions:3), or give a class of your own (mapl.prediction.hypotheses)."
        )
    if name in ON_ONE_FEATURE and n_features != 1:
        raise InvalidParameter(
            f"{name.capitalize()} look at one feature and there are {n_features}; give one column, chosen without "
            "looking at private rows, or take stumps."
        )
    return BY_NAME[name](n_features, int(size or SIZED.get(name, 0)))
