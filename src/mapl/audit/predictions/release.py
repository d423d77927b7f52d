"""One released rule on every small sample and its neighbours, exactly: the semi-private learner and its twins."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mapl.audit.finding import Finding, Verdict
from mapl.audit.predictions.samples import ADJACENCY, UNIT, Sample, SampleWorld, neighbours
from mapl.audit.predictions.stable_twins import select
from mapl.prediction.hypotheses import Thresholds
from mapl.types import RecordAdjacency

NAME = "semi-private"
PUBLIC = np.array([[1.0], [2.0]])
WORLD = SampleWorld(asked=(0.0, 1.0, 2.0), most=4)
RuleCode = tuple[int, ...]
"""How a rule labels every question of the world: two rules that agree everywhere are one."""
RulesRelease = Callable[[Sample], Mapping[RuleCode, Fraction]]


@dataclass(frozen=True, slots=True)
class ReleaseTwin:
    """A mistake in the release."""

    summary: str
    private_points: bool = False
    power: int = 1
    """By what the cost of an error is multiplied, where it is not the one that is claimed."""


RELEASE_TWINS: dict[str, ReleaseTwin] = {
    "private-points": ReleaseTwin("rules listed from private points", private_points=True),
    "whole-counts": ReleaseTwin("an error costs twice what is claimed", power=2),
}


def law_of_draw(fall: Fraction, *, private_points: bool = False) -> RulesRelease:
    """Return the law of the drawn rule where an error costs a factor `fall`."""
    asked = np.array(WORLD.questions)

    def law(sample: Sample) -> Mapping[RuleCode, Fraction]:
        X = np.array([x for x, _ in sample], dtype=float).reshape(len(sample), 1)
        y = np.array([label for _, label in sample], dtype=int)
        rules = list(Thresholds().patterns(X if private_points else PUBLIC))
        chances: dict[RuleCode, Fraction] = defaultdict(Fraction)
        drawn = select([int((rule.predict(X) != y).sum()) for rule in rules], fall, by="exponential")
        for rule, chance in zip(rules, drawn, strict=True):
            chances[tuple(rule.predict(asked).tolist())] += chance
        return chances

    return law


def audit_release(law: RulesRelease, epsilon: float, bound: Fraction, *, adjacency: RecordAdjacency) -> Finding:
    """Compare the claim e^epsilon <= bound with the chances of every rule on all neighbouring samples."""
    records = WORLD.records
    laws = {kinds: law(tuple(records[k] for k in kinds)) for kinds in WORLD.samples()}
    worst: Fraction | float = Fraction(1)
    gain, n_pairs, witness = 0.0, 0, None
    for one, other in neighbours(laws, len(records), adjacency):
        n_pairs += 1
        # Betting on all rules at once gains most; a pure epsilon leaves nothing to gain.
        gain = max(gain, float(sum(bet for bet in _bets(laws[one], laws[other], bound) if bet > 0)))
        for rule, p in laws[one].items():
            q = laws[other].get(rule, Fraction(0))
            if p > worst * q:
                worst = p / q if q else math.inf
                witness = tuple(records[k] for k in one), tuple(records[k] for k in other), rule
    broken = worst > bound
    return Finding(
        mechanism=NAME,
        epsilon=epsilon,
        delta=0.0,
        found_delta_lower=gain,
        found_delta_upper=None if broken else 0.0,
        renyi_order=math.inf,
        renyi_claimed=epsilon,
        renyi_found=math.log(worst),
        certified=not broken,
        verdict=Verdict.violated if broken else Verdict.within,
        questions=1,
        details={
            "exceeded": ["ratio of chances"] if broken else [],
            "samples": len(laws),
            "pairs": n_pairs,
            "witness": witness if broken else None,
        },
        adjacency=ADJACENCY[adjacency],
        unit=UNIT,
    )


def _bets(
    mine: Mapping[RuleCode, Fraction], theirs: Mapping[RuleCode, Fraction], bound: Fraction
) -> Iterator[Fraction]:
    return (p - bound * theirs.get(rule, Fraction(0)) for rule, p in mine.items())


def examine_exact_release(fall: Fraction, *, adjacency: RecordAdjacency, twin: str | None = None) -> Finding:
    """Audit the release, or a broken twin of it, where an error costs a factor `fall`."""
    mistake = ReleaseTwin("") if twin is None else RELEASE_TWINS[twin]
    bound = 1 / fall if adjacency == "add-remove" else 1 / fall**2
    steps: dict[str, Any] = {"private_points": mistake.private_points}
    return audit_release(
        law_of_draw(fall**mistake.power, **steps),
        math.nextafter(math.log(bound), math.inf),
        bound,
        adjacency=adjacency,
    )
