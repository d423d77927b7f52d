"""Probabilities of classes by basic operations only, number by number.

Libraries compute exponentials in ways that may depend on where in memory a number lies. Sums, products and
quotients are rounded correctly everywhere, so that what is made of them is the same for a row whichever rows stand
beside it.
"""

from __future__ import annotations

import math

import numpy as np

from mapl.types import Floats

LOWEST = -700.0
TERMS = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


def class_chances(scores: Floats) -> Floats:
    """Return the softmax of every row."""
    powers = _exponential(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / add_columns(powers)[:, None])


def add_columns(matrix: Floats) -> Floats:
    """Return the sum of every row, added from left to right."""
    total = matrix[:, 0].copy()
    for j in range(1, matrix.shape[1]):
        total += matrix[:, j]
    return total


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
