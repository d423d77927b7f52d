"""What a theorem says about given numbers: a value, what it means, and what has to hold for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Bound:
    """The number that a theorem promises, with everything needed to read it.

    Parameters
    ----------
    value
        The promised number.
    meaning
        What it is a bound on, with its unit and on which side it bounds, in one sentence.
    assumptions
        What has to hold for the promise, one sentence each; where the number is an epsilon or depends on one,
        the delta, the adjacency and the unit are among them.
    terms
        The quantities that it was computed from, by name; a read-only view of a copy.
    source
        Paper and theorem, and whether the form is printed, corrected or derived.

    Examples
    --------
    >>> wrong = Bound(0.25, "at most this share of wrong answers", ("independent rows",), {"n": 8.0}, "BTT18")
    >>> float(wrong) + wrong.terms["n"]
    8.25
    """

    value: float
    meaning: str
    assumptions: tuple[str, ...]
    terms: Mapping[str, float]
    source: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", MappingProxyType(dict(self.terms)))

    def __float__(self) -> float:
        return float(self.value)
