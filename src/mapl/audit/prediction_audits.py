"""The predictors that can be audited by name, each at an epsilon for one answer, with its broken twins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mapl.audit import prediction_release, prediction_stump_twins
from mapl.audit.finding import Finding
from mapl.audit.prediction_samples import Adjacency, World, audit_predictor
from mapl.audit.prediction_stable_twins import (
    ExactStable,
    by_coins,
    first_records,
    representatives_from_sample,
    uniform,
)
from mapl.errors import InvalidParameter
from mapl.prediction import padded_price, semi_private
from mapl.prediction.flip import flip_for, inner_for, pure_epsilon
from mapl.prediction.hypotheses import Thresholds

STUMPS, STABLE, SEMI_PRIVATE = prediction_stump_twins.NAME, "stable", prediction_release.NAME
BITS = 20
CAUTION = 1e-6
"""The flip is wider than the least one by this much, so that what it allows can be computed and rounded."""
MANY_TIES = World(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0, 2.0), most=8)
SMALL = World(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0), most=4)
ETA = Fraction(1, 4)
"""The chance of a record to be in the subset; of the four records of the small world, one."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A mistake of the stable predictor, in the steps of its law or in their numbers."""

    summary: str
    steps: Mapping[str, Any] = field(default_factory=dict)
    shares: int = 1
    """By what the chance to be in the subset is multiplied, where it is not the one that is claimed."""
    power: int = 1
    """By what the cost of an error is multiplied."""


STABLE_TWINS: dict[str, Twin] = {
    "no-flips": Twin("answers never flipped", {"flip": Fraction(0)}),
    "same-subset": Twin("a subset that is not drawn anew", {"subsets": first_records(lambda n: math.ceil(n / 4))}),
    "twice-the-subset": Twin("a subset of twice the claimed share", shares=2),
    "rules-from-sample": Twin("rules shaped by the whole sample", {"cover": representatives_from_sample}),
    "double-cost": Twin("an error costs twice what is claimed", power=2),
}


def examined_stumps(epsilon: float, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit the padded stumps on all samples of a world with many equal values."""
    rate = padded_price.rate_for(epsilon, adjacency=adjacency)
    return prediction_stump_twins.examined(fall_of(rate), adjacency=adjacency, twin=twin, world=MANY_TIES)


def examined_stable(epsilon: float, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit the stable predictor for thresholds with flips, as `stable_settings` would set them for one share."""
    padded_price.rate_for(epsilon, adjacency=adjacency)  # refuses an epsilon that no predictor is made for
    mistake = Twin("") if twin is None else STABLE_TWINS[twin]
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


def examined_release(epsilon: float, *, adjacency: Adjacency, twin: str | None = None) -> Finding:
    """Audit the one release of the semi-private learner."""
    padded_price.rate_for(epsilon, adjacency=adjacency)
    rate = semi_private.rate_for(epsilon, adjacency=adjacency)
    return prediction_release.examined(fall_of(rate), adjacency=adjacency, twin=twin)


@dataclass(frozen=True, slots=True)
class Audit:
    """How a predictor is audited, and the names of its broken twins with what is wrong with each."""

    examined: Callable[..., Finding]
    twins: Mapping[str, str]


AUDITS: dict[str, Audit] = {
    name: Audit(carried_out, {key: twin.summary for key, twin in twins.items()})
    for name, carried_out, twins in (
        (STUMPS, examined_stumps, prediction_stump_twins.STUMP_TWINS),
        (STABLE, examined_stable, STABLE_TWINS),
        (SEMI_PRIVATE, examined_release, prediction_release.RELEASE_TWINS),
    )
}


def examined(name: str, epsilon: float, *, adjacency: str, twin: str | None = None) -> Finding:
    """Audit a predictor at an epsilon for one answer, or a broken twin of it, on every sample of a small world.

    Examples
    --------
    >>> examined("semi-private", 1.0, adjacency="replace-one").verdict.value
    'within the claim'
    >>> examined("semi-private", 1.0, adjacency="replace-one", twin="whole-counts").verdict.value
    'violated'
    """
    known = AUDITS[name].twins
    padded_price.refuse_unknown(adjacency)
    if twin is not None and twin not in known:
        raise InvalidParameter(f"{name} has no twin {twin}; it has: {', '.join(known)}.")
    return AUDITS[name].examined(epsilon, adjacency=adjacency, twin=twin)


def fall_of(rate: float) -> Fraction:
    """Return a fraction of few digits just above e^-rate, so that an error costs no more than the rate."""
    return above(math.exp(-rate))


def above(value: float) -> Fraction:
    """Return a fraction of `BITS` binary digits that is above a positive number by 1e-6 of it at most."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.ceil(mantissa * 2**BITS * (1 + 1e-12)), 2**BITS) * Fraction(2) ** exponent
