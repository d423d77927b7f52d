"""Floating point numbers as integers of the same order, and a search that runs in many columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.signedinteger[Any]]


def order_keys(values: NDArray[np.floating[Any]]) -> Keys:
    """Return integers, as wide as the numbers, that compare as the numbers do.

    -0 and 0 are one number. NaN, of either sign and any payload, is one number too, above infinity.

    >>> order_keys(np.array([-np.inf, -1.0, -0.0, 0.0, 1e-300, np.inf, np.nan])).argsort().tolist()
    [0, 1, 2, 3, 4, 5, 6]
    """
    integer = np.dtype(f"i{values.itemsize}")
    bits = (values + 0.0).view(integer)
    # Negative numbers descend as integers; turning all bits but the sign round makes them ascend.
    keys: Keys = np.right_shift(bits, 8 * values.itemsize - 1)
    keys &= np.iinfo(integer).max
    keys ^= bits
    keys[np.isnan(values)] = np.array(np.nan, dtype=values.dtype).view(integer)
    return keys


def count_below(
    keys: Keys, starts: NDArray[np.int64], lengths: NDArray[np.int64], targets: Keys
) -> NDArray[np.int64]:
    """Return for each target how many keys of its ascending run are smaller.

    Run j is `keys[starts[j] : starts[j] + lengths[j]]`; the arrays broadcast against the targets. All searches
    take their steps together, log2 of the longest run in number.
    """
    if not keys.size:
        return np.zeros(targets.shape, dtype=np.int64)
    # One dimension and one shape for all: broadcasting in every step would take longer than the search.
    before = np.broadcast_to(starts - 1, targets.shape).ravel()
    last = before + np.broadcast_to(lengths, targets.shape).ravel()
    sought = targets.ravel()
    found = before.copy()  # the last key that is known to be smaller
    step = 1 << max(int(lengths.max()).bit_length() - 1, 0)
    while step:
        ahead = found + step
        smaller = keys.take(ahead, mode="clip") < sought
        smaller &= ahead <= last
        np.copyto(found, ahead, where=smaller)
        step >>= 1
    return (found - before).reshape(targets.shape)
