"""What a private predictor answers, on every small sample and all its neighbours, exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.audit.counts.tables import below_exp
from mapl.audit.finding import Finding, Verdict
from mapl.errors import InvalidParameter
from mapl.types import RecordAdjacency

SampleRecord = tuple[tuple[float, ...], int]
"""The features of a record and its label, 0 or 1."""
Sample = tuple[SampleRecord, ...]
PredictorLaw = Callable[[Sample], Sequence[Fraction]]
"""From a sample to the chance of label 1 for every question of the world."""

ADJACENCY: dict[str, str] = {
    "add-remove": "one record is added to the sample or removed from it",
    "replace-one": "one record is replaced by any other; the number of records is the same",
}
UNIT = "one record, that is one row of the sample"
MOST_SAMPLES = 20_000
LARGEST = 1e300
NEARLY = 1 - 1e-9
"""Double precision is far better than this: what it calls smaller by more is smaller, and needs no fractions."""


@dataclass(frozen=True, slots=True)
class SampleWorld:
    """All that a record can be, how many of them a sample holds at most, and all that is asked.

    The order of records must not matter to a law; tests of predictors see to that separately.
    """

    values: tuple[float, ...] = (0.0, 1.0, 2.0)
    asked: tuple[float, ...] = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
    n_features: int = 1
    most: int = 5

    @property
    def records(self) -> list[SampleRecord]:
        return list(product(product(self.values, repeat=self.n_features), (0, 1)))

    @property
    def questions(self) -> list[tuple[float, ...]]:
        return list(product(self.asked, repeat=self.n_features))

    def samples(self) -> Iterator[tuple[int, ...]]:
        """Return every sample as the ascending numbers of its records."""
        number = math.comb(len(self.records) + self.most, self.most)
        if number > MOST_SAMPLES:
            raise InvalidParameter(
                f"There are {number:,} samples of up to {self.most} records; an exhaustive audit takes at most "
                f"{MOST_SAMPLES:,}. Take fewer values, features or records."
            )
        kinds = range(len(self.records))
        return chain.from_iterable(combinations_with_replacement(kinds, n) for n in range(self.most + 1))


@dataclass(frozen=True, slots=True)
class WorstAnswer:
    """An answer whose chances, or odds, have a larger ratio than any before it."""

    ratio: Fraction | float = Fraction(1)
    delta: float = 0.0
    """What betting on that answer gains at the claim."""
    witness: tuple[Sample, Sample, tuple[float, ...], int] | None = None


@dataclass(frozen=True, slots=True)
class Chances:
    """The chances of answer 1 to all questions, then those of answer 0; exact, and rounded for a first look."""

    exact: tuple[Fraction, ...]
    rounded: NDArray[np.float64]

    @classmethod
    def of(cls, law: Sequence[Fraction]) -> Chances:
        exact = (*law, *(1 - p for p in law))
        return cls(exact, np.array([float(p) for p in exact]))

    def suspects(self, other: Chances, ratio: float, odds: float) -> list[int]:
        """Return where a chance, or its odds, is larger than the other's by as much as any before, or nearly so."""
        mine, theirs = self.rounded, other.rounded
        larger = np.flatnonzero(mine > theirs)
        mine, theirs = mine[larger], theirs[larger]
        ratio, odds = min(ratio, LARGEST), min(odds, LARGEST)
        half = len(self.exact) // 2
        not_mine, not_theirs = (np.roll(c.rounded, half)[larger] for c in (self, other))
        far = mine >= ratio * NEARLY * theirs
        far |= mine * not_theirs >= odds * NEARLY * theirs * not_mine
        suspects: list[int] = larger[far].tolist()
        return suspects


def audit_predictor(
    law: PredictorLaw,
    epsilon: float,
    *,
    name: str,
    bound: Fraction | None = None,
    odds: Fraction | None = None,
    adjacency: RecordAdjacency = "add-remove",
    world: SampleWorld | None = None,
) -> Finding:
    """Compare a claimed epsilon per question with the exact chances of both answers on all neighbouring samples.

    Parameters
    ----------
    epsilon
        What is claimed of one answer, at delta = 0.
    bound
        The same claim as an exact bound of the ratios, where e^epsilon is a fraction.
    odds
        If composition relies on it: by what factor a neighbour changes the odds of an answer at most.
    """
    if adjacency not in ADJACENCY:
        raise InvalidParameter(f"The adjacency is {adjacency!r}; choose {' or '.join(ADJACENCY)}.")
    world = world or SampleWorld()
    bound = below_exp(epsilon) if bound is None else bound
    records, questions = world.records, world.questions
    laws = {sample: Chances.of(law(tuple(records[k] for k in sample))) for sample in world.samples()}
    worst, farthest, n_pairs = WorstAnswer(), WorstAnswer(), 0
    for one, other in neighbours(laws, len(records), adjacency):
        n_pairs += 1
        for j in laws[one].suspects(laws[other], float(worst.ratio), float(farthest.ratio)):
            mine, theirs = laws[one].exact[j], laws[other].exact[j]
            ratio = mine / theirs if theirs else math.inf
            moved = ratio * (1 - theirs) / (1 - mine) if mine < 1 else math.inf
            if ratio > worst.ratio or moved > farthest.ratio:
                shown = tuple(records[k] for k in one), tuple(records[k] for k in other)
                witness = (*shown, questions[j % len(questions)], 1 - j // len(questions))
                gain = max(0.0, float(mine - bound * theirs))
                worst = max(worst, WorstAnswer(ratio, gain, witness), key=lambda found: found.ratio)
                farthest = max(farthest, WorstAnswer(moved, gain, witness), key=lambda found: found.ratio)
    exceeded = {
        "ratio of chances": worst.ratio > bound,
        "ratio of odds": odds is not None and farthest.ratio > odds,
    }
    broken = [part for part, is_exceeded in exceeded.items() if is_exceeded]
    return Finding(
        mechanism=name,
        epsilon=epsilon,
        delta=0.0,
        found_delta_lower=worst.delta,
        found_delta_upper=None if broken else 0.0,
        renyi_order=math.inf,
        renyi_claimed=epsilon,
        renyi_found=_log(worst.ratio),
        certified=not broken,
        verdict=Verdict.violated if broken else Verdict.within,
        questions=1,
        details={
            "exceeded": broken,
            "samples": len(laws),
            "pairs": n_pairs,
            "log_odds_found": _log(farthest.ratio),
            "witness": (worst if worst.ratio > bound else farthest).witness if broken else None,
        },
        adjacency=ADJACENCY[adjacency],
        unit=UNIT,
    )


def neighbours(
    laws: Mapping[tuple[int, ...], Any], n_kinds: int, adjacency: RecordAdjacency
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every pair of neighbouring samples, in both orders."""
    for without in laws:
        more = [tuple(sorted((*without, kind))) for kind in range(n_kinds)]
        if more[0] not in laws:
            continue  # as large as samples get
        if adjacency == "add-remove":
            yield from ((without, one) for one in more)
            yield from ((one, without) for one in more)
        else:
            yield from ((one, other) for one, other in product(more, repeat=2) if one != other)


def _log(ratio: Fraction | float) -> float:
    return ratio if isinstance(ratio, float) else math.log(ratio.numerator) - math.log(ratio.denominator)
