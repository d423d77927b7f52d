"""The predictors that can be audited by name, each at an epsilon for one answer, with its broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mapl.audit.finding import Finding
from mapl.audit.predictions import release as prediction_release
from mapl.audit.predictions import stump_twins as prediction_stump_twins
from mapl.audit.predictions.samples import SampleWorld, audit_predictor
from mapl.audit.predictions.stable_twins import (
    ExactStable,
    by_coins,
    first_records,
    representatives_from_sample,
    uniform,
)
from mapl.errors import InvalidParameter
from mapl.prediction.hypotheses import Thresholds
from mapl.prediction.predictors import semi_private
from mapl.prediction.predictors.flip import flip_for, inner_for, pure_epsilon
from mapl.prediction.prices import padded_stumps as padded_price
from mapl.types import RecordAdjacency

STUMPS, STABLE, SEMI_PRIVATE = prediction_stump_twins.NAME, "stable", prediction_release.NAME
BITS = 20
CAUTION = 1e-6
"""The flip is wider than the least one by this much, so that what it allows can be computed and rounded."""
MANY_TIES = SampleWorld(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0, 2.0), most=8)
SMALL = SampleWorld(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0), most=4)
ETA = Fraction(1, 4)
"""The chance of a record to be in the subset; of the four records of the small world, one."""


@dataclass(frozen=True, slots=True)
class PredictorTwin:
    """A mistake of the stable predictor, in the steps of its law or in their numbers."""

    summary: str
    steps: Mapping[str, Any] = field(default_factory=dict)
    shares: int = 1
    """By what the chance to be in the subset is multiplied, where it is not the one that is claimed."""
    power: int = 1
    """By what the cost of an error is multiplied."""


STABLE_TWINS: dict[str, PredictorTwin] = {
    "no-flips": PredictorTwin("answers never flipped", {"flip": Fraction(0)}),
    "same-subset": PredictorTwin(
        "a subset that is not drawn anew", {"subsets": first_records(lambda n: math.ceil(n / 4))}
    ),
    "twice-the-subset": PredictorTwin("a subset of twice the claimed share", shares=2),
    "rules-from-sample": PredictorTwin("rules shaped by the whole sample", {"cover": representatives_from_sample}),
    "double-cost": PredictorTwin("an error costs twice what is claimed", power=2),
}


def examine_stumps(epsilon: float, *, adjacency: RecordAdjacency, twin: str | None = None) -> Finding:
    """Audit the padded stumps on all samples of a world with many equal values."""
    rate = padded_price.rate_for(epsilon, adjacency=adjacency)
    return prediction_stump_twins.examine_exact_stumps(
        fall_of(rate), adjacency=adjacency, twin=twin, world=MANY_TIES
    )


def examine_stable(epsilon: float, *, adjacency: RecordAdjacency, twin: str | None = None) -> Finding:
    """Audit the stable predictor for thresholds with flips, as `stable_settings` would set them for one share."""
    padded_price.rate_for(epsilon, adjacency=adjacency)  # refuses an epsilon that no predictor is made for
    mistake = PredictorTwin("") if twin is None else STABLE_TWINS[twin]
    flip = above(flip_for(epsilon, float(ETA)) * (1 + CAUTION))
    per_rate = 1 if adjacency == "add-remove" else 2
    rate = inner_for(epsilon, float(ETA), float(flip), odds=True) / per_rate
    fall = fall_of(min(rate, padded_price.MOST_EPSILON))
    share = mistake.shares * ETA
    law = ExactStable(
        world=SMALL,
        hypotheses=Thresholds(),
        subsets=lambda n: by_coins(n, share) if adjacency == "add-remove" else uniform(n, int(share * n)),
        fall=fall**mistake.power,
        flip=flip,
    )
    claimed = pure_epsilon(math.nextafter(-per_rate * math.log(fall), math.inf), ETA, flip, odds=True)
    if claimed > epsilon:
        raise InvalidParameter(
            f"epsilon is {epsilon:g}; an audit of {STABLE} takes at most about 25, for rounding."
        )
    return audit_predictor(
        replace(law, **mistake.steps),
        claimed,
        name=STABLE,
        adjacency=adjacency,
        world=SMALL,
    )


def examine_release(epsilon: float, *, adjacency: RecordAdjacency, twin: str | None = None) -> Finding:
    """Audit the one release of the semi-private learner."""
    padded_price.rate_for(epsilon, adjacency=adjacency)
    rate = semi_private.rate_for(epsilon, adjacency=adjacency)
    return prediction_release.examine_exact_release(fall_of(rate), adjacency=adjacency, twin=twin)


@dataclass(frozen=True, slots=True)
class PredictorAudit:
    """How a predictor is audited, and the names of its broken twins with what is wrong with each."""

    examine: Callable[..., Finding]
    twins: Mapping[str, str]


AUDITS: dict[str, PredictorAudit] = {
    name: PredictorAudit(carried_out, {key: twin.summary for key, twin in twins.items()})
    for name, carried_out, twins in (
        (STUMPS, examine_stumps, prediction_stump_twins.STUMP_TWINS),
        (STABLE, examine_stable, STABLE_TWINS),
        (SEMI_PRIVATE, examine_release, prediction_release.RELEASE_TWINS),
    )
}


def examine_predictor(name: str, epsilon: float, *, adjacency: str, twin: str | None = None) -> Finding:
    """Audit a predictor at an epsilon for one answer, or a broken twin of it, on every sample of a small world.

    Examples
    --------
    >>> examine_predictor("semi-private", 1.0, adjacency="replace-one").verdict.value
    'within the claim'
    >>> examine_predictor("semi-private", 1.0, adjacency="replace-one", twin="whole-counts").verdict.value
    'violated'
    """
    known = AUDITS[name].twins
    padded_price.refuse_unknown(adjacency)
    if twin is not None and twin not in known:
        raise InvalidParameter(f"{name} has no twin {twin}; it has: {', '.join(known)}.")
    return AUDITS[name].examine(epsilon, adjacency=adjacency, twin=twin)


def fall_of(rate: float) -> Fraction:
    """Return a fraction of few digits just above e^-rate, so that an error costs no more than the rate."""
    return above(math.exp(-rate))


def above(value: float) -> Fraction:
    """Return a fraction of `BITS` binary digits that is above a positive number by 1e-6 of it at most."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.ceil(mantissa * 2**BITS * (1 + 1e-12)), 2**BITS) * Fraction(2) ** exponent
