"""DF20 Theorem 2: relabel the records by a drawn hypothesis, then let teachers on the new labels vote privately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.bounds.df20.private import private
from mapl.bounds.df20.relabel import SPLITS, best_relabelling
from mapl.bounds.families import ClassifierKind, Family
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.single.permute_and_flip import PermuteAndFlip
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.noise import ONE, Coins
from mapl.prediction.candidates.candidates import Cover
from mapl.prediction.candidates.consistent import Consistent
from mapl.prediction.hypotheses import (
    Halfspaces,
    HypothesisClass,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    Unions,
)
from mapl.prediction.hypotheses.draw import Ball
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.hypotheses.sample import as_filled, as_ones
from mapl.prediction.predictors.flip import BITS, MOST_INNER, ball, pure_epsilon, up
from mapl.prediction.predictors.predictor import in_words
from mapl.prediction.predictors.stable import question
from mapl.prediction.predictors.stable_settings import log_sets
from mapl.prediction.predictors.subset import FixedSize
from mapl.prediction.predictors.teachers_vote import learnt, shards_of, vote_for
from mapl.types import Flags, RecordAdjacency, Silent, Tallies, positive_integer

RESTRICTING = (Thresholds, Stumps, Intervals, Unions, Rectangles, Halfspaces)
"""Classes whose patterns on a part of T are those on T, restricted, and whose `n_patterns` mapl answers for."""


@dataclass(frozen=True, slots=True)
class TwoStageSettings:
    """Everything public: sizes, rates, and the net on which the sharper of two proofs rests.

    Parameters
    ----------
    rate
        What one error costs a hypothesis in the draw that relabels.
    vote_epsilon
        Epsilon of the teachers' vote for one relabelled record.
    net
        nu: two hypotheses that agree on the rest of the subset differ on a share nu of the records at most, but for
        a chance that the union bound covers.
    flip
        Numerator over 2**62 of the chance to say the opposite.
    """

    n: int
    subset: int
    rate: float
    vote_epsilon: float
    n_teachers: int
    net: float
    flip: int

    def __post_init__(self) -> None:
        positive_integer(n=self.n, subset=self.subset, n_teachers=self.n_teachers)
        if not self.subset < self.n:
            raise InvalidParameter(f"The subset's size is {self.subset}; it must be below the {self.n} records.")
        if not (0 < self.net < 1 and 0 < self.flip < ONE // 2):
            raise InvalidParameter("net must lie between 0 and 1, flip/2**62 between 0 and 1/2; see the class.")

    @property
    def moved(self) -> int:
        """M: on so many records two hypotheses that agree on the rest of the subset differ at most."""
        return math.floor(self.net * (self.n - 1)) + 1

    def missed(self, hypotheses: HypothesisClass) -> float:
        """Return the chance that the rest of the subset is no net of the other records, at most; rounded up."""
        sets = float(log_sets(hypotheses, self.n - 1, np.array([self.net]))[0])
        share = min(self.moved / (self.n - 1), 1.0)
        if share == 1.0:
            return 0.0 if self.subset > 1 else 1.0
        return min(1.0, math.exp(min(0.0, sets + (self.subset - 1) * math.log1p(-share))) * (1 + 1e-9))

    def fixed(self) -> float:
        """Return the log-ratio for a record outside the subset: twice the rate and the vote, rounded up."""
        with ctx.workprec(BITS):
            return up(2 * arb(self.rate) + arb(self.vote_epsilon))

    def sampled(self) -> float:
        """Return epsilon of Theorem 7, ln(1 + Lambda n'/(n - n')) + 2 rate + vote, rounded up."""
        with ctx.workprec(BITS):
            grown = 4 * ((2 * arb(self.rate) + arb(self.vote_epsilon)) * self.moved).exp()
            odds: Ball = ball(Fraction(self.subset, self.n - self.subset))
            return up((1 + grown * odds).log() + 2 * arb(self.rate) + arb(self.vote_epsilon))

    def epsilon(self, hypotheses: HypothesisClass) -> float:
        """Return the pure epsilon of one flipped answer: the better of two proofs, where the class allows both."""
        share, flip = Fraction(self.subset, self.n), Fraction(self.flip, ONE)
        plain = pure_epsilon(min(self.fixed(), MOST_INNER), share, flip)
        if not restricts(hypotheses) or self.sampled() > MOST_INNER:
            return plain
        netted = pure_epsilon(self.sampled(), min(share, share * Fraction(self.missed(hypotheses))), flip)
        return min(plain, netted)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TwoStage(Silent):
    """For each question: a subset, a hypothesis drawn from its cover, new labels for all, teachers, a vote, a flip.

    Notes
    -----
    *Guarantee.* Pure `epsilon` for each answer if one record is replaced. Theorem 7 of
    docs/proofs/stable-prediction.md. Of asymptotic interest: see `pays_from`.
    """

    points: Points
    ones: Flags
    hypotheses: HypothesisClass
    settings: TwoStageSettings
    vote: PermuteAndFlip

    @classmethod
    def fit(
        cls, X: NDArray[Any], y: NDArray[Any], hypotheses: HypothesisClass, *, settings: TwoStageSettings
    ) -> TwoStage:
        """Keep the sample; all work is done anew for every answer."""
        points = as_filled(X, n_features=1)
        if len(points) != settings.n:
            raise InvalidParameter("The number of records is not the one of the settings; make settings for it.")
        # Refused by size alone, so that no subset or shard is refused later.
        for size in (settings.subset, math.ceil(settings.n / settings.n_teachers)):
            Cover(hypotheses).refuse_beyond(size)
        vote = vote_for(settings.vote_epsilon, settings.n_teachers)
        assert isinstance(vote, PermuteAndFlip)
        return cls(points, as_ones(y, n_points=len(points)), hypotheses, settings, vote)

    @property
    def name(self) -> str:
        return f"two-stage {self.hypotheses.name}"

    @property
    def adjacency(self) -> RecordAdjacency:
        return "replace-one"

    @property
    def epsilon(self) -> float:
        return self.settings.epsilon(self.hypotheses)

    @property
    def stability(self) -> float:
        return min(1.0, math.tanh(self.epsilon / 2) * (1 + 1e-12))

    @property
    def per_answer(self) -> Loss:
        return Loss.pure(self.epsilon, MANY_ORDERS)

    @property
    def promise(self) -> str:
        return in_words(epsilon=self.epsilon, stability=self.stability, adjacency=self.adjacency)

    def answer(self, x: NDArray[Any], coins: Coins) -> int:
        row = question(x, self.points)
        chosen = FixedSize(self.settings.subset, self.settings.n).draw(self.settings.n, coins)
        patterns = Cover(self.hypotheses).among(self.points[chosen], self.ones[chosen].astype(np.int32), coins)
        errors = patterns.errors(self.points, self.ones)
        labels = errors.draw(self.settings.rate, coins).predict(self.points)
        k = self.settings.n_teachers
        shards = shards_of(self.settings.n, k, adjacency=self.adjacency, coins=coins)
        learn = Consistent(self.hypotheses).learn
        teachers = [learnt(learn, self.points[shards == j], labels[shards == j], coins) for j in range(k)]
        ones = sum(int(teacher.predict(row)[0]) for teacher in teachers)
        label = int(self.vote.decide(Tallies(np.array([[k - ones, ones]])), coins)[0])
        return label ^ bool(coins.flip(np.array([self.settings.flip]))[0])


def settings_for(n: int, epsilon: float, hypotheses: HypothesisClass) -> TwoStageSettings:
    """Return settings of the least bound with tuned constants, or say that there are none worth having."""
    if not restricts(hypotheses):
        raise InvalidParameter(
            f"The two-stage predictor is tuned by a proof that holds for {', '.join(c.name for c in RESTRICTING)} "
            f"as mapl lists them, and {hypotheses.name} is none of these; take the stable predictor."
        )
    family = family_of(hypotheses)
    found = best_relabelling(n, epsilon * (1 - 1e-9), family, SPLITS)
    if found.subset < 2 or found.excess >= 0.5:
        raise CannotCalibrate(
            f"With {n} records and epsilon {epsilon:g} per answer the two-stage predictor is no better than a "
            f"coin; it beats the stable one from about {pays_from(epsilon, family.kind, family.vc):.0e} "
            "records on. Take the stable predictor."
        )
    k = np.unique(np.round(np.geomspace(1, n, 400)))
    losses = 4 * family.member_error(np.floor(n / k)) + np.exp(-found.vote_epsilon * k / 4) / 2
    settings = TwoStageSettings(
        n,
        found.subset,
        found.weight,
        found.vote_epsilon,
        int(k[losses.argmin()]),
        found.net,
        math.ceil(found.flip * (1 + 1e-6) * ONE) + 1,
    )
    if not settings.epsilon(hypotheses) <= epsilon:
        raise CannotCalibrate(f"An epsilon of {epsilon:g} per answer could not be rounded; ask for a larger one.")
    return settings


@lru_cache(maxsize=64)
def pays_from(epsilon: float, kind: ClassifierKind, vc: int) -> float:
    """Return from how many records on, up to a factor of ten, the two-stage bound is below the stable one's."""
    family = Family(kind, vc)
    for digits in range(3, 16):
        n = 10**digits
        if best_relabelling(n, epsilon, family, SPLITS).excess < private(n, epsilon, family).excess:
            return float(n)
    return math.inf


def restricts(hypotheses: HypothesisClass) -> bool:
    """Say whether the sharper proof holds for the class; by its type, since anybody may take its name."""
    return type(hypotheses) in RESTRICTING


def family_of(hypotheses: HypothesisClass) -> Family:
    """Return what the bounds know of the class: two of them by type, the others by their VC dimension."""
    named = type(hypotheses) in (Thresholds, Intervals)
    return Family.of(hypotheses.name) if named else Family.of(ClassifierKind.any, hypotheses.vc)
