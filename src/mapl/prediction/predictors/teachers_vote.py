"""One private vote of teachers on disjoint shards: DF18's two predictors, by the mechanisms that mapl has."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import Task
from mapl.mechanisms.single.exponential_vote import ExponentialVote
from mapl.mechanisms.single.gibbs_flip import GibbsFlip
from mapl.mechanisms.single.laplace_max import LaplaceMax
from mapl.mechanisms.single.permute_and_flip import PermuteAndFlip
from mapl.noise import Coins
from mapl.prediction.candidates.candidates import Constant
from mapl.prediction.hypotheses import Hypothesis
from mapl.prediction.hypotheses.row_by_row import row_by_row
from mapl.prediction.hypotheses.sample import as_filled, as_ones
from mapl.prediction.predictors.predictor import RECORDS, in_words
from mapl.prediction.prices.padded_stumps import refuse_unknown
from mapl.release.statement.plain_words import at_most
from mapl.types import Budget, RecordAdjacency, Silent, Tallies, positive_integer

Vote = ExponentialVote | GibbsFlip | LaplaceMax | PermuteAndFlip
VOTES: dict[str, type[Vote]] = {
    vote.name: vote for vote in (ExponentialVote, GibbsFlip, LaplaceMax, PermuteAndFlip)
}
Learn = Callable[[NDArray[Any], NDArray[Any], Coins], Any]


def vote_for(epsilon: float, n_teachers: int, *, by: str = "permute-and-flip", delta: float = 0.0) -> Vote:
    """Return a mechanism for single votes between two labels at this epsilon each.

    Permute-and-flip is, for two labels, the threshold with Laplace noise: the best of all private votes that treat
    the labels alike. Gibbs-flip is for teachers that may err often.
    """
    if by not in VOTES:
        raise InvalidParameter(f"The vote is {by!r}; choose one of {', '.join(VOTES)}.")
    return VOTES[by].for_task(Task(Budget(epsilon, delta), n_teachers, 2, 1), epsilon_each=epsilon)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TeachersVote(Silent):
    """Teachers that each saw one shard, and a private vote of them for every question.

    Notes
    -----
    *Guarantee.* One record changes one teacher at most, since where it goes depends on no other record: by its
    place in the table if records are replaced, by a coin of its own if they are added or removed. So each answer
    costs what the vote costs for one teacher: Theorem 9 of docs/proofs/stable-prediction.md and
    docs/proofs/single-predictions.md.
    """

    teachers: tuple[Hypothesis, ...]
    vote: Vote
    n_features: int
    adjacency: RecordAdjacency

    @classmethod
    def fit(
        cls,
        X: NDArray[Any],
        y: NDArray[Any],
        learn: Learn,
        *,
        vote: Vote,
        n_teachers: int,
        adjacency: RecordAdjacency,
        coins: Coins,
    ) -> TeachersVote:
        """Let ``learn(X, y, coins)`` make a model of each shard; where it fails, the teacher says 0 for ever."""
        refuse_unknown(adjacency)
        positive_integer(n_teachers=n_teachers)
        points = as_filled(X, n_features=1)
        labels = as_ones(y, n_points=len(points)).astype(np.int32)
        shards = shards_of(len(points), n_teachers, adjacency=adjacency, coins=coins)
        teachers = [learnt(learn, points[shards == j], labels[shards == j], coins) for j in range(n_teachers)]
        return cls(tuple(teachers), vote, points.shape[1], adjacency)

    @property
    def name(self) -> str:
        return f"teachers' {self.vote.name}"

    @property
    def epsilon(self) -> float | None:
        return None if self.vote.per_answer.delta else self.vote.epsilon_each

    @property
    def stability(self) -> float:
        return min(1.0, math.tanh(self.vote.epsilon_each / 2) * (1 + 1e-12) + self.vote.per_answer.delta)

    @property
    def per_answer(self) -> Loss:
        return self.vote.per_answer

    @property
    def promise(self) -> str:
        if self.epsilon is None:
            return (
                f"Each answer has epsilon {at_most(self.vote.epsilon_each)}, delta "
                f"{at_most(self.vote.per_answer.delta, 2)}, if {RECORDS[self.adjacency]}."
            )
        return in_words(epsilon=self.epsilon, stability=self.stability, adjacency=self.adjacency)

    def votes(self, x: NDArray[Any]) -> Tallies:
        """Return the votes on the one question x: private."""
        row = as_filled(np.asarray(x).reshape(1, -1), n_features=self.n_features)
        ones = sum(int(teacher.predict(row)[0]) for teacher in self.teachers)
        return Tallies(np.array([[len(self.teachers) - ones, ones]], dtype=np.int64))

    def answer(self, x: NDArray[Any], coins: Coins) -> int:
        return int(self.vote.decide(self.votes(x), coins)[0])


def shards_of(n: int, n_shards: int, *, adjacency: RecordAdjacency, coins: Coins) -> NDArray[np.int64]:
    """Return the shard of every record, which no other record decides."""
    if adjacency == "replace-one":
        return np.arange(n) % n_shards
    return coins.below(np.full(n, n_shards, dtype=np.int64))


def learnt(learn: Learn, X: NDArray[Any], y: NDArray[Any], coins: Coins) -> Hypothesis:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning may quote what it warns about
        try:
            return row_by_row(learn(X, y, coins))
        except Exception:
            return Constant(0)
