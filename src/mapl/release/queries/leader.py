"""The leader of scores and its distance to instability: what most stable queries are made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from mapl.planning.plan import canonical
from mapl.types import positive_integer

Value = TypeVar("Value", bound=Hashable)


def leader(scores: Mapping[Value, int], *, moves: int) -> tuple[Value | None, int]:
    """Return the value with the highest score, and how many units may change without another one leading.

    The distance is max(0, ceil(gap / m) - 1), for the gap between the two highest scores. Ties go to the value that
    is first as text. A value that is not there has a score of zero; where there is none at all, None leads.

    Parameters
    ----------
    scores
        Whole numbers of at least zero.
    moves
        m: by how much one unit moves the difference of any two scores, at most. 1 where scores count units and one
        is added or removed, 2 where one is replaced, 2s where each unit moves up to s votes.

    Notes
    -----
    *Guarantee.* Between neighbours the distance moves by at most one, and it is zero on both sides where they have
    different leaders. Lemma 1 of docs/proofs/stable-queries.md.

    Examples
    --------
    >>> leader({"red": 90, "blue": 40}, moves=1), leader({"red": 90, "blue": 40}, moves=2 * 5)
    (('red', 49), ('red', 4))
    """
    positive_integer(moves=moves)
    ranked = sorted(scores, key=lambda value: (-scores[value], canonical(value)))[:2]
    if not ranked:
        return None, 0
    gap = int(scores[ranked[0]]) - (int(scores[ranked[1]]) if len(ranked) > 1 else 0)
    return ranked[0], max(0, (gap - 1) // moves)
