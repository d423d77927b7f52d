"""The padded stumps' law in fractions, written once more from the definition, and broken twins of it.

With a rational q = e^(-rate) every mass is a fraction, and so are the claims: chances change by a factor of at most
2/q - 1 if a record is added or removed, and by 1/q times that if one is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

from mapl.audit.finding import Finding
from mapl.audit.predictions.samples import PredictorLaw, Sample, SampleWorld, audit_predictor
from mapl.errors import InvalidParameter
from mapl.types import RecordAdjacency

NAME = "padded-stumps"
Walk = Callable[[list[tuple[float, int]], int, float], tuple[list[int], int]]
"""From (value, label) pairs, the own label and a question to the gaps' error counts and the question's gap."""
Pads = Callable[[Fraction, Fraction, Fraction], tuple[Fraction, Fraction]]
"""From q and the masses of the two outermost gaps to what stands beyond them."""


def rank(value: float) -> tuple[bool, float]:
    """Order values as the predictor does: NaN is one value above infinity, and -0 is 0."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def own_first(column: list[tuple[float, int]], own: int, asked: float) -> tuple[list[int], int]:
    """Walk past the records one by one; of equal values the own label first, then the question, then the rest."""
    ordered = sorted((rank(value), 0 if label == own else 2) for value, label in column)
    return levels(ordered), sum(place < (rank(asked), 1) for place in ordered)


def levels(ordered: list[tuple[Any, int]]) -> list[int]:
    """Return the errors of the rule "own label right of the gap": the first has every other record on that side."""
    wrong_at_first = sum(side == 2 for _, side in ordered)
    return list(accumulate((1 if side == 0 else -1 for _, side in ordered), initial=wrong_at_first))


def from_zero(column: list[tuple[float, int]], own: int, asked: float) -> tuple[list[int], int]:
    """Count errors from where a path starts, so that those of two labels cannot be compared."""
    errors, gap = own_first(column, own, asked)
    return [level - errors[0] for level in errors], gap


def merge_ties(column: list[tuple[float, int]], own: int, asked: float) -> tuple[list[int], int]:
    """Make one gap between different values only, so that a step over many equal records is steep."""
    ordered = sorted((rank(value), 0 if label == own else 2) for value, label in column)
    every = levels(ordered)
    ends = [i for i in range(len(ordered)) if i + 1 == len(ordered) or ordered[i][0] != ordered[i + 1][0]]
    return [every[0], *(every[i + 1] for i in ends)], sum(ordered[i][0] <= rank(asked) for i in ends)


def majority_first(column: list[tuple[float, int]], own: int, asked: float) -> tuple[list[int], int]:
    """Let the more frequent label among equal values come first: one record may turn all of them round."""
    lead: dict[tuple[bool, float], int] = {}
    for value, label in column:
        lead[rank(value)] = lead.get(rank(value), 0) + (1 if label == own else -1)
    ordered = sorted(
        (rank(value), 1 if (label == own) != (lead[rank(value)] >= 0) else 0, 0 if label == own else 2)
        for value, label in column
    )
    before = sum(place[0] < rank(asked) for place in ordered)
    return levels([(place[0], place[2]) for place in ordered]), before


def geometric(q: Fraction, first: Fraction, last: Fraction) -> tuple[Fraction, Fraction]:
    """Continue both ends for ever, one more error a step."""
    return first * q / (1 - q), last * q / (1 - q)


def no_pads(q: Fraction, first: Fraction, last: Fraction) -> tuple[Fraction, Fraction]:
    return Fraction(0), Fraction(0)


def one_step(q: Fraction, first: Fraction, last: Fraction) -> tuple[Fraction, Fraction]:
    """Add one constant rule at each end."""
    return first * q, last * q


def left_pad(q: Fraction, first: Fraction, last: Fraction) -> tuple[Fraction, Fraction]:
    return first * q / (1 - q), Fraction(0)


def halves(n: int) -> Fraction:
    """Split the question's own gap between both answers."""
    return Fraction(1, 2)


def exact_law(
    world: SampleWorld,
    q: Fraction,
    *,
    walk: Walk = own_first,
    pads: Pads = geometric,
    own_gap: Callable[[int], Fraction] = halves,
) -> PredictorLaw:
    """Return the law of the padded stumps at rate -ln q; honest unless a step is replaced.

    `own_gap` is the part of the question's gap that counts as left of the question, by the number of records.
    """

    def law(sample: Sample) -> list[Fraction]:
        return [chance(sample, question) for question in world.questions]

    def chance(sample: Sample, question: tuple[float, ...]) -> Fraction:
        mass = [Fraction(0), Fraction(0)]
        for feature, asked in enumerate(question):
            column = [(features[feature], label) for features, label in sample]
            for own in (0, 1):
                errors, gap = walk(column, own, asked)
                masses = [q**level for level in errors]
                left, right = pads(q, masses[0], masses[-1])
                left += sum(masses[:gap]) + masses[gap] * own_gap(len(sample))
                right += sum(masses[gap + 1 :]) + masses[gap] * (1 - own_gap(len(sample)))
                mass[own] += left
                mass[1 - own] += right
        return mass[1] / (mass[0] + mass[1])

    return law


@dataclass(frozen=True)
class StumpTwin:
    """A mistake in the law, or in the claim."""

    summary: str
    steps: dict[str, Any] = field(default_factory=dict)
    power: int = 1
    """By what the rate of the law is multiplied, where it is not the one that is claimed."""


STUMP_TWINS: dict[str, StumpTwin] = {
    "no-pads": StumpTwin("nothing beyond the outermost gaps", {"pads": no_pads}),
    "one-step-pads": StumpTwin("one constant rule at each end in place of a geometric tail", {"pads": one_step}),
    "left-pad-only": StumpTwin("no pad at the right end", {"pads": left_pad}),
    "half-claim": StumpTwin("half of the rate in the claim", power=2),
    "ties-merged": StumpTwin("one gap between different values", {"walk": merge_ties}),
    "majority-first": StumpTwin("equal values ordered by their majority", {"walk": majority_first}),
    "paths-from-zero": StumpTwin("errors counted from the start of each path", {"walk": from_zero}),
    "left-end": StumpTwin("the question's gap counts as left of it", {"own_gap": lambda n: Fraction(1)}),
    "right-end": StumpTwin("the question's gap counts as right of it", {"own_gap": lambda n: Fraction(0)}),
    "wandering-end": StumpTwin(
        "left end if n is even, right end if odd", {"own_gap": lambda n: Fraction(1 - n % 2)}
    ),
}


def examine_exact_stumps(
    q: Fraction,
    *,
    adjacency: RecordAdjacency = "add-remove",
    twin: str | None = None,
    world: SampleWorld | None = None,
) -> Finding:
    """Audit the padded stumps in fractions, or a broken twin of them, on every sample of a small world."""
    if twin is not None and twin not in STUMP_TWINS:
        raise InvalidParameter(f"{NAME} has no twin {twin}; it has: {', '.join(STUMP_TWINS)}.")
    mistake = StumpTwin("") if twin is None else STUMP_TWINS[twin]
    world = world or SampleWorld()
    bound = claimed_ratio(q, adjacency)
    return audit_predictor(
        exact_law(world, q**mistake.power, **mistake.steps),
        math.log(bound),
        name=NAME,
        bound=bound,
        odds=claimed_odds(q, adjacency),
        adjacency=adjacency,
        world=world,
    )


def claimed_ratio(q: Fraction, adjacency: RecordAdjacency) -> Fraction:
    """Return e^epsilon of the theorem."""
    once = 2 / q - 1
    return once if adjacency == "add-remove" else once / q


def claimed_odds(q: Fraction, adjacency: RecordAdjacency) -> Fraction:
    """Return by what factor the theorem lets a neighbour change the odds."""
    once = 2 / q - 1
    return once if adjacency == "add-remove" else once * once
