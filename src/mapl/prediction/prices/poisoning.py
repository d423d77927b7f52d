"""How far an adversary who plants examples can move an answer of a stable predictor."""

from __future__ import annotations

from mapl.errors import InvalidParameter
from mapl.types import positive_integer


def stable_bound(k: int, gamma: float) -> float:
    """Bound the change of any answer's chance by k planted examples, for any gamma-stable predictor.

    One example after the other moves it by gamma at most, in the adjacency in which gamma holds.
    `StablePredictor.stability_against` knows more about its own predictor.

    Examples
    --------
    >>> round(stable_bound(3, 0.1), 9), stable_bound(30, 0.1)
    (0.3, 1.0)
    """
    positive_integer(k=k)
    if not 0 <= gamma <= 1:
        raise InvalidParameter(f"gamma is {gamma}; it is a change of a chance and must lie between 0 and 1.")
    return min(1.0, k * gamma * (1 + 1e-15))
