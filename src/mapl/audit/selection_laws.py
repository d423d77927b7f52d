"""Private selections on small worlds: the exact law of a choice on all neighbouring scores, and broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np

from mapl.audit.counts.tables import below_exp
from mapl.audit.examine import MOST_EPSILON
from mapl.audit.finding import Finding, Verdict
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.release.best_of import BestOf
from mapl.release.cell_counts import SENSITIVITY
from mapl.release.private_selection import RandomRepetition
from mapl.release.statement.promise import promise_of
from mapl.types import Adjacency

ChoiceLaw = list[Fraction]
MOST = 6
"""Scores of the small world lie below it."""
CANDIDATES = 3
PARTS = 12
MEAN_RUNS = 100
PRICE = 3
"""What the best of a random number of runs costs, in runs."""


def step_of(scores: tuple[int, ...], sensitivity: int) -> Iterator[tuple[int, ...]]:
    """Yield neighbouring scores: a unit more is right for some, one that changes may turn any around."""
    for step in product((0, 1) if sensitivity == 1 else (-1, 0, 1), repeat=len(scores)):
        yield tuple(score + s for score, s in zip(scores, step, strict=True))


def neighbouring_choices(best: BestOf, sensitivity: int) -> Iterator[tuple[ChoiceLaw, ChoiceLaw]]:
    """Yield the laws of a choice under all neighbouring scores of the small world, both ways round."""
    laws: dict[tuple[int, ...], ChoiceLaw] = {}

    def law(scores: tuple[int, ...]) -> ChoiceLaw:
        if scores not in laws:
            laws[scores] = best.law(np.array(scores))
        return laws[scores]

    for scores in product(range(MOST), repeat=best.n_candidates):
        for other in step_of(scores, sensitivity):
            yield law(scores), law(other)
            yield law(other), law(scores)


def laws_of_one_run(parts: int = PARTS) -> list[ChoiceLaw]:
    """Return all laws of one run with three outcomes, worst first, whose chances are multiples of 1 / parts."""
    return [
        [Fraction(a, parts), Fraction(b, parts), Fraction(parts - a - b, parts)]
        for a in range(1, parts)
        for b in range(1, parts - a)
    ]


def neighbouring_runs(ratio: Fraction) -> Iterator[tuple[ChoiceLaw, ChoiceLaw]]:
    """Yield pairs of laws of one run that differ by at most this ratio."""
    for p, q in product(laws_of_one_run(), repeat=2):
        if all(x <= ratio * y and y <= ratio * x for x, y in zip(p, q, strict=True)):
            yield p, q


def of_fixed_runs(law: ChoiceLaw, runs: int) -> ChoiceLaw:
    """Return the law of the best of always the same number of runs."""
    ends = [sum(law[: i + 1], Fraction(0)) for i in range(len(law))]
    return [end**runs - start**runs for start, end in zip([Fraction(0), *ends], ends, strict=False)]


@dataclass
class WorstLaws:
    """The worst of some pairs of laws, at a bound on the ratio of their chances."""

    bound: Fraction
    ratio: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    pairs: int = 0
    _seen: set[tuple[Fraction, ...]] = field(default_factory=set)

    def weigh(self, p: ChoiceLaw, q: ChoiceLaw) -> None:
        """Take a pair into account."""
        self.pairs += 1
        key = (*p, *q)
        if key in self._seen:
            return
        self._seen.add(key)
        self.ratio = max(self.ratio, *(x / y for x, y in zip(p, q, strict=True)))
        excess = (x - self.bound * y for x, y in zip(p, q, strict=True))
        self.delta = max(self.delta, sum((e for e in excess if e > 0), Fraction(0)))

    def finding(self, name: str, epsilon: float, adjacency: Adjacency, samples: int) -> Finding:
        """Say how it compares with a pure claim."""
        promise, broken = promise_of(adjacency, "person"), self.ratio > self.bound
        return Finding(
            mechanism=name,
            epsilon=epsilon,
            delta=0.0,
            found_delta_lower=float(self.delta),
            found_delta_upper=float(self.delta),
            renyi_order=math.inf,
            renyi_claimed=epsilon,
            renyi_found=math.log(self.ratio.numerator) - math.log(self.ratio.denominator),
            certified=not broken,
            verdict=Verdict.violated if broken else Verdict.within,
            questions=1,
            details={
                "exceeded": ["ratio of chances"] if broken else [],
                "samples": samples,
                "pairs": self.pairs,
            },
            adjacency=promise.adjacency,
            unit=promise.unit,
        )


BEST_OF_TWINS: dict[str, str] = {
    "double-weights": "weights that fall twice as fast as is paid for",
    "come-and-go-only": "weights for units that come or go, where one may change",
}


def examine_best_of(epsilon: float, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit the choice of the best of three on all scores below six, with exact fractions."""
    _testable(epsilon)
    sensitivity = SENSITIVITY[adjacency]
    if twin == "come-and-go-only":
        if sensitivity == 1:
            raise InvalidParameter(
                f"The twin {twin} is wrong where a unit may change; give {spell('adjacency', 'replace-one')}."
            )
        law = BestOf(epsilon, CANDIDATES, 1)
    else:
        law = BestOf(epsilon * (2 if twin == "double-weights" else 1), CANDIDATES, sensitivity)
    worst = WorstLaws(below_exp(epsilon))
    for p, q in neighbouring_choices(law, sensitivity):
        worst.weigh(p, q)
    return worst.finding(BestOf.name, epsilon, adjacency, MOST**CANDIDATES)


REPETITION_TWINS: dict[str, str] = {
    "fixed-runs": "always the same number of runs",
    "price-of-one": "a random number of runs at the price of one",
    "price-of-two": "a random number of runs at the price of two",
}


def examine_repetition(epsilon: float, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit the best of a random number of runs on all laws of one run in twelfths, with exact fractions."""
    _testable(epsilon)
    repetition = RandomRepetition.with_mean(MEAN_RUNS, n_candidates=1)
    price = {"price-of-one": 1, "price-of-two": 2}.get(twin or "", PRICE)
    published: Callable[[ChoiceLaw], ChoiceLaw] = repetition.law
    if twin == "fixed-runs":
        published = lambda law: of_fixed_runs(law, MEAN_RUNS)  # noqa: E731
    worst = WorstLaws(below_exp(epsilon))
    for p, q in neighbouring_runs(below_exp(epsilon / price)):
        worst.weigh(published(p), published(q))
    return worst.finding(RandomRepetition.name, epsilon, adjacency, len(laws_of_one_run()))


def _testable(epsilon: float) -> None:
    if epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"The claimed epsilon is {epsilon:g}; an audit takes at most {MOST_EPSILON:g}, beyond which nothing is "
            "promised that is worth auditing."
        )
