"""A delta that promises nothing: where a run is refused for it, whoever asks and whatever the table holds."""

from __future__ import annotations

from mapl.errors import InvalidParameter

MOST_DELTA = 0.01
"""Above this no run begins. Mechanisms, bounds and audits take any delta below 1: they promise nobody anything."""


def refuse_large(delta: float) -> None:
    """Refuse a delta with which publishing more than one person in a hundred would be private.

    The limit is a number of its own: one over the number of units would tell how many there are.

    Examples
    --------
    >>> refuse_large(1e-5)
    >>> refuse_large(0.5)
    Traceback (most recent call last):
        ...
    mapl.errors.InvalidParameter: delta is 0.5: publishing one person in 2 would keep such a promise. A run takes \
at most 0.01; 1e-5 is usual, and clearly less than one over the number of people.
    """
    if MOST_DELTA < delta < 1:
        raise InvalidParameter(
            f"delta is {delta:g}: publishing one person in {1 / delta:.3g} would keep such a promise. A run takes "
            f"at most {MOST_DELTA:g}; 1e-5 is usual, and clearly less than one over the number of people."
        )
