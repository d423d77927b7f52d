"""Probabilities of classes by basic operations only, number by number.

Libraries compute exponentials in ways that may depend on where in memory a number lies. Sums, products and
quotients are rounded correctly everywhere, so that what is made of them is the same for a row whichever rows stand
beside it.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapl.types import Floats

Number = TypeVar("Number", bound=np.floating[Any])

LOWEST = -700.0
TERMS = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


def class_chances(scores: Floats) -> Floats:
    """Return the softmax of every row."""
    powers = _exponential(scores - largest_column(scores)[:, None])
    return np.asarray(powers / add_columns(powers)[:, None])


def add_columns(matrix: NDArray[Number]) -> NDArray[Number]:
    """Return the sum of every row, added from left to right."""
    total = matrix[:, 0].copy()
    for column in matrix.T[1:]:
        total += column
    return total


def largest_column(matrix: NDArray[Number]) -> NDArray[Number]:
    """Return the largest number of every row; numpy takes ten times as long to go through short rows one by one."""
    largest = matrix[:, 0].copy()
    for column in matrix.T[1:]:
        np.maximum(largest, column, out=largest)
    return largest


def _exponential(values: Floats) -> Floats:
    """Return e to the power of numbers that are at most zero."""
    values = np.maximum(values, LOWEST)
    doublings = np.rint(values * (1 / math.log(2)))
    rest = (values - doublings * LN2_HIGH) - doublings * LN2_LOW
    power = np.full_like(rest, TERMS[0])
    for term in TERMS[1:]:
        power *= rest
        power += term
    return np.asarray(np.ldexp(power, doublings.astype(np.int32)))
