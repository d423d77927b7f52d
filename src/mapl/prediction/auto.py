"""Which predictor for n records and an epsilon: the one of the least bound, with every bound that was compared."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.bounds.bound import Bound
from mapl.bounds.df18 import vote_error
from mapl.bounds.df20_relabel import theorem_2
from mapl.bounds.learners import agnostic_excess
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.noise import Coins
from mapl.prediction import padded_price
from mapl.prediction.candidates import Cover
from mapl.prediction.consistent import Consistent
from mapl.prediction.hypotheses import Halfspaces, HypothesisClass, Rectangles, Stumps, Thresholds
from mapl.prediction.padded_stumps import PaddedStumps
from mapl.prediction.predictor import RECORDS, Adjacency, Predictor, in_words
from mapl.prediction.stable import StablePredictor
from mapl.prediction.stable_settings import (
    MOST_RECORDS,
    for_epsilon,
    fresh_excess,
    fresh_loss,
    most_by_coins,
    refused,
)
from mapl.prediction.teachers_vote import TeachersVote, vote_for
from mapl.prediction.two_stage import TwoStage, family_of, settings_for
from mapl.release.statement import at_most
from mapl.types import positive_integer

BETA = 0.05
"""The bounds hold except with this probability over independent records, or on average."""
VACUOUS = 0.5
"""An error above the best rule's that a fair coin has at most, too."""
VOTING = "Every teacher is a hypothesis of the class that is best on its shard."

Fit = Callable[[NDArray[Any], NDArray[Any], Coins], Predictor]


@dataclass(frozen=True, slots=True)
class Choice:
    """The predictor of the least bound, made by `fit`; `considered` has all bounds, `refused` the reasons."""

    name: str
    bound: Bound
    considered: Mapping[str, Bound]
    refused: Mapping[str, str]
    fit: Fit = field(repr=False)


@dataclass(frozen=True, slots=True)
class Question:
    """What is known before any private record is read."""

    n: int
    epsilon: float
    hypotheses: HypothesisClass
    adjacency: Adjacency
    realizable: bool

    def bound(self, excess: float, *assumptions: str, **terms: float) -> Bound:
        return Bound(
            value=min(1.0, float(excess)),
            meaning="error of one private answer to a fresh question above the best of the class's, at most",
            assumptions=(
                f"Each answer has pure epsilon {at_most(self.epsilon)}, delta 0, if {RECORDS[self.adjacency]}.",
                f"Records are independent; it holds on average or except with probability {BETA:g} over them.",
                *assumptions,
            ),
            terms=terms,
            source="docs/proofs/stable-prediction.md",
        )


def choose(
    n: int,
    epsilon: float,
    hypotheses: HypothesisClass,
    *,
    adjacency: Adjacency = "replace-one",
    realizable: bool = False,
    alpha: float | None = None,
) -> Choice:
    """Return the predictor of the least bound among those that fit the class and the adjacency.

    Where all bounds are vacuous padded stumps are taken, if they fit.

    Parameters
    ----------
    n
        The number of records; if they may be added or removed, a public guess of it.
    realizable
        Whether some hypothesis of the class is declared never to err; a vote of teachers relies on it.
    alpha
        The error above the best of the class that is wanted; refused, with the records that it takes, if no bound
        reaches it.

    Examples
    --------
    >>> choose(10_000, 1.0, Thresholds()).name
    'padded'
    """
    padded_price.refuse_unknown(adjacency)
    positive_integer(n=n)
    padded_price.rate_for(epsilon, adjacency=adjacency)  # refuses an epsilon that no predictor is made for
    asked = Question(n, epsilon, hypotheses, adjacency, realizable)
    considered: dict[str, Bound] = {}
    fits: dict[str, Fit] = {}
    refused: dict[str, str] = {}
    for name, method in METHODS.items():
        try:
            considered[name], fits[name] = method(asked)
        except (CannotCalibrate, InvalidParameter) as refusal:
            refused[name] = str(refusal)
    if not considered:
        raise CannotCalibrate(
            f"No predictor can be made for {n} records: {' '.join(sorted(set(refused.values())))}"
        )
    name = min(considered, key=lambda key: float(considered[key]))
    if float(considered[name]) >= VACUOUS and "padded" in considered:
        name = "padded"  # where no bound says anything: measured, it is far ahead of the others
    if alpha is not None and not float(considered[name]) <= alpha:
        raise CannotCalibrate(_too_few(asked, alpha))
    return Choice(name, considered[name], MappingProxyType(considered), MappingProxyType(refused), fits[name])


def stable(asked: Question) -> tuple[Bound, Fit]:
    """(a) The stable learner, flipped: any class, no assumption."""
    found = for_epsilon(asked.n, asked.epsilon, asked.hypotheses, adjacency=asked.adjacency)
    bound = asked.bound(
        fresh_excess(found, asked.n, asked.hypotheses, beta=BETA),
        excess_on_the_records=found.excess,
        eta=float(found.subset.share),
        rate=found.rate,
    )
    return bound, lambda X, y, coins: StablePredictor.fit(
        X, y, Cover(asked.hypotheses), subset=found.subset, rate=found.rate, by=found.by, flip=found.flip
    )


def two_stage(asked: Question) -> tuple[Bound, Fit]:
    """(b) Relabel and vote: better than (a) for very many records only."""
    if asked.adjacency != "replace-one":
        raise InvalidParameter("The two-stage predictor is proved for replaced records; choose replace-one for it.")
    settings = settings_for(asked.n, asked.epsilon, asked.hypotheses)
    family = family_of(asked.hypotheses)
    found = theorem_2(asked.n, asked.epsilon, kind=family.kind, vc=family.vc)
    bound = asked.bound(float(found), *found.assumptions[1:], **found.terms)
    return bound, lambda X, y, coins: TwoStage.fit(X, y, asked.hypotheses, settings=settings)


def realizable_vote(asked: Question) -> tuple[Bound, Fit]:
    """(c) A vote of consistent teachers, if some hypothesis never errs."""
    if not asked.realizable:
        raise InvalidParameter("The vote relies on a hypothesis that never errs; declare it realizable if so.")
    k = _teachers(asked)
    errors = vote_error(k, _teacher_error(asked, k), asked.epsilon)
    n_teachers = int(k[errors.argmin()])
    bound = asked.bound(errors.min(), VOTING, "Some hypothesis of the class never errs.", teachers=n_teachers)
    return bound, _vote(asked, n_teachers, "permute-and-flip")


def gibbs(asked: Question) -> tuple[Bound, Fit]:
    """(d) A random teacher's vote, flipped now and then: any learner."""
    k = _teachers(asked)
    flips = 1 / (k * math.expm1(asked.epsilon) + 2)
    rows = np.floor(asked.n / k) if asked.adjacency == "replace-one" else np.floor(asked.n / k / 2)
    few = 0 * k if asked.adjacency == "replace-one" else np.exp(-asked.n / k / 8)
    excess = [agnostic_excess(int(m), asked.hypotheses.vc, BETA / t) for m, t in zip(rows, k, strict=True)]
    total = np.array(excess) + few + flips
    n_teachers = int(k[total.argmin()])
    bound = asked.bound(total.min(), VOTING, teachers=n_teachers, flip=float(flips[total.argmin()]))
    return bound, _vote(asked, n_teachers, "gibbs-flip")


def padded(asked: Question) -> tuple[Bound, Fit]:
    """(e) All one-feature thresholds at once: thresholds and stumps only."""
    if not isinstance(asked.hypotheses, Thresholds | Stumps):
        raise InvalidParameter(
            f"Padded stumps cannot answer for {asked.hypotheses.name}; only for thresholds and stumps."
        )
    columns = (
        slice(asked.hypotheses.feature, asked.hypotheses.feature + 1)
        if isinstance(asked.hypotheses, Thresholds)
        else slice(0, asked.hypotheses.n_features)
    )
    stumps = Stumps(columns.stop - columns.start)
    rate = padded_price.rate_for(asked.epsilon, adjacency=asked.adjacency)
    found = padded_price.excess_bound(asked.n, stumps.n_features, rate=rate)
    bound = asked.bound(found + fresh_loss(asked.n, stumps, BETA), excess_on_the_records=found, rate=rate)
    return bound, lambda X, y, coins: PaddedPredictor(
        PaddedStumps.at_rate(np.asarray(X)[:, columns], y, rate=rate, adjacency=asked.adjacency), columns
    )


METHODS: Mapping[str, Callable[[Question], tuple[Bound, Fit]]] = {
    "stable": stable,
    "two-stage": two_stage,
    "realizable-vote": realizable_vote,
    "gibbs-vote": gibbs,
    "padded": padded,
}


@dataclass(frozen=True, slots=True)
class PaddedPredictor:
    """Padded stumps as a predictor of single questions."""

    stumps: PaddedStumps
    columns: slice

    @property
    def name(self) -> str:
        return "padded stumps"

    @property
    def adjacency(self) -> Adjacency:
        return self.stumps.adjacency

    @property
    def epsilon(self) -> float:
        return self.stumps.epsilon

    @property
    def stability(self) -> float:
        return min(1.0, math.tanh(self.stumps.epsilon / 2) * (1 + 1e-12))

    @property
    def per_answer(self) -> Loss:
        return self.stumps.per_answer

    @property
    def promise(self) -> str:
        return in_words(epsilon=self.epsilon, stability=self.stability, adjacency=self.adjacency)

    def answer(self, x: NDArray[Any], coins: Coins) -> int:
        return int(self.stumps.answer(np.asarray(x).reshape(1, -1)[:, self.columns], coins)[0])


def _vote(asked: Question, n_teachers: int, by: str) -> Fit:
    vote = vote_for(asked.epsilon, n_teachers, by=by)
    return lambda X, y, coins: TeachersVote.fit(
        X,
        y,
        Consistent(asked.hypotheses).learn,
        vote=vote,
        n_teachers=n_teachers,
        adjacency=asked.adjacency,
        coins=coins,
    )


def _teachers(asked: Question) -> NDArray[np.float64]:
    """Return the numbers of teachers to try: those whose shards the class does not refuse as too large."""
    k = np.unique(np.round(np.geomspace(1, asked.n, 400)))
    if not isinstance(asked.hypotheses, Halfspaces | Rectangles):
        return k

    def listed(teachers: float) -> bool:
        size = asked.n / teachers
        most = math.ceil(size) if asked.adjacency == "replace-one" else most_by_coins(asked.n, size)
        return not refused(asked.hypotheses, most)

    k = k[bisect_left(k, True, key=listed) :]
    if not k.size:
        raise InvalidParameter(
            f"{asked.hypotheses.name.capitalize()} refuse every shard as too large; take fewer features, or stumps."
        )
    return k


def _teacher_error(asked: Question, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean error of a consistent teacher; a shard by coins seldom has less than half its mean size."""
    family = family_of(asked.hypotheses)
    if asked.adjacency == "replace-one":
        return family.member_error(np.floor(asked.n / k))
    return np.minimum(1.0, family.member_error(np.floor(asked.n / k / 2)) + np.exp(-asked.n / k / 8))


def _too_few(asked: Question, alpha: float) -> str:
    if not 0 < alpha < 1:
        raise InvalidParameter(f"alpha is {alpha}; it is an error and must lie between 0 and 1.")

    def reached(n: int) -> bool:
        found = choose(n, asked.epsilon, asked.hypotheses, adjacency=asked.adjacency, realizable=asked.realizable)
        return float(found.bound) <= alpha

    low, high = asked.n, 2 * asked.n
    while high < MOST_RECORDS and not reached(high):
        low, high = high, 2 * high
    if high >= MOST_RECORDS:
        needed = f"more than {MOST_RECORDS:,} records"
    else:
        while high - low > max(1, low // 50):
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        needed = f"about {high:,} records"
    return (
        f"{asked.n} records are too few for an error of {alpha:g} above the best of the class at epsilon "
        f"{asked.epsilon:g}, delta 0, {asked.adjacency}, by any bound known; {needed} would do. Give more, allow "
        "more error or a larger epsilon."
    )
