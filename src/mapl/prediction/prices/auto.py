"""What every predictor promises for n records and an epsilon, and how it is fitted."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.bounds.bound import Bound
from mapl.bounds.df20.df18 import vote_error
from mapl.bounds.df20.relabel import theorem_2
from mapl.bounds.learners import agnostic_excess
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.candidates.consistent import Consistent
from mapl.prediction.hypotheses import Halfspaces, HypothesisClass, Rectangles, Stumps, Thresholds
from mapl.prediction.predictors.padded_stumps import PaddedStumps
from mapl.prediction.predictors.predictor import RECORDS, Predictor, in_words
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.stable_settings import (
    for_epsilon,
    fresh_excess,
    fresh_loss,
    most_by_coins,
    refuses_patterns,
)
from mapl.prediction.predictors.teachers_vote import TeachersVote, vote_for
from mapl.prediction.predictors.two_stage import TwoStage, family_of, settings_for
from mapl.prediction.prices import padded_stumps as padded_price
from mapl.release.statement.plain_words import at_most
from mapl.types import RecordAdjacency

BETA = 0.05
"""The bounds hold except with this probability over independent records, or on average."""
VACUOUS = 0.5
"""An error above the best rule's that a fair coin has at most, too."""
VOTING = "Every teacher is a hypothesis of the class that is best on its shard."

Fit = Callable[[NDArray[Any], NDArray[Any], Coins], Predictor]


@dataclass(frozen=True, slots=True)
class PredictorQuestion:
    """What is known before any private record is read."""

    n: int
    epsilon: float
    hypotheses: HypothesisClass
    adjacency: RecordAdjacency
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


def stable(asked: PredictorQuestion) -> tuple[Bound, Fit]:
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


def two_stage(asked: PredictorQuestion) -> tuple[Bound, Fit]:
    """(b) Relabel and vote: better than (a) for very many records only."""
    if asked.adjacency != "replace-one":
        raise InvalidParameter("The two-stage predictor is proved for replaced records; choose replace-one for it.")
    settings = settings_for(asked.n, asked.epsilon, asked.hypotheses)
    family = family_of(asked.hypotheses)
    found = theorem_2(asked.n, asked.epsilon, kind=family.kind, vc=family.vc)
    bound = asked.bound(float(found), *found.assumptions[1:], **found.terms)
    return bound, lambda X, y, coins: TwoStage.fit(X, y, asked.hypotheses, settings=settings)


def realizable_vote(asked: PredictorQuestion) -> tuple[Bound, Fit]:
    """(c) A vote of consistent teachers, if some hypothesis never errs."""
    if not asked.realizable:
        raise InvalidParameter("The vote relies on a hypothesis that never errs; declare it realizable if so.")
    k = _teachers(asked)
    errors = vote_error(k, _teacher_error(asked, k), asked.epsilon)
    n_teachers = int(k[errors.argmin()])
    bound = asked.bound(errors.min(), VOTING, "Some hypothesis of the class never errs.", teachers=n_teachers)
    return bound, _vote(asked, n_teachers, "permute-and-flip")


def gibbs(asked: PredictorQuestion) -> tuple[Bound, Fit]:
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


def bound_padded(asked: PredictorQuestion) -> tuple[Bound, Fit]:
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


METHODS: Mapping[str, Callable[[PredictorQuestion], tuple[Bound, Fit]]] = {
    "stable": stable,
    "two-stage": two_stage,
    "realizable-vote": realizable_vote,
    "gibbs-vote": gibbs,
    "padded": bound_padded,
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
    def adjacency(self) -> RecordAdjacency:
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


def _vote(asked: PredictorQuestion, n_teachers: int, by: str) -> Fit:
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


def _teachers(asked: PredictorQuestion) -> NDArray[np.float64]:
    """Return the numbers of teachers to try: those whose shards the class does not refuse as too large."""
    k = np.unique(np.round(np.geomspace(1, asked.n, 400)))
    if not isinstance(asked.hypotheses, Halfspaces | Rectangles):
        return k

    def listed(teachers: float) -> bool:
        size = asked.n / teachers
        most = math.ceil(size) if asked.adjacency == "replace-one" else most_by_coins(asked.n, size)
        return not refuses_patterns(asked.hypotheses, most)

    k = k[bisect_left(k, True, key=listed) :]
    if not k.size:
        raise InvalidParameter(
            f"{asked.hypotheses.name.capitalize()} refuse every shard as too large; take fewer features, or stumps."
        )
    return k


def _teacher_error(asked: PredictorQuestion, k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean error of a consistent teacher; a shard by coins seldom has less than half its mean size."""
    family = family_of(asked.hypotheses)
    if asked.adjacency == "replace-one":
        return family.member_error(np.floor(asked.n / k))
    return np.minimum(1.0, family.member_error(np.floor(asked.n / k / 2)) + np.exp(-asked.n / k / 8))
