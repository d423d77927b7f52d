"""The one list of places where private values meet noise, and what a replay puts in the private values' place.

Everything before such a place runs for real: reading, sharding, training, voting, scoring. There the private values
are swapped for public ones of the same shape, which the real mechanism then decides with pinned coins. Whatever
differs after that between two neighbouring tables has passed the mechanism by.
"""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mapl.data.moments.contributions import ExactSums
from mapl.mechanisms.scores.noisy_mean import Sums
from mapl.mechanisms.scores.scores import Medians
from mapl.noise import SeededCoins
from mapl.release.queries.oracle import Block
from mapl.types import StableAnswers, Tallies

Twin = Callable[..., Any]


def by_votes(real: Twin, mechanism: Any, state: Any, block: Any, coins: Any) -> Any:
    """Decide made-up votes, sums or distances instead."""
    return real(mechanism, state, public_block(block, mechanism) if len(block) else block, coins)


def by_numbers(real: Twin, mechanism: Any, numbers: Any, coins: Any) -> Any:
    """Add noise to made-up numbers instead: 0, 1, 2, 0, ..., in the same shape."""
    return real(mechanism, (np.arange(numbers.size) % 3).reshape(numbers.shape), coins)


def by_sums(real: Twin, mechanism: Any, round_number: int, sums: Any, coins: Any) -> Any:
    """Add noise to made-up sums instead, as many: some thousands of deviations."""
    made_up = ExactSums(len(sums.low))
    made_up.add((np.arange(len(sums.low), dtype=np.int64) % 7) << 50)
    return real(mechanism, round_number, made_up, coins)


def by_question(real: Twin, predictor: Any, x: Any, coins: Any) -> int:
    """Answer for real, with coins of its own, and tell the parity of the question instead."""
    real(predictor, x, SeededCoins(0))
    return len(np.asarray(x, dtype=np.float64).tobytes().strip(b"\0")) % 2


def by_place(real: Twin, confidence: Any, x: Any) -> float:
    real(confidence, x)
    return 0.75


def by_public_points(real: Twin, X: Any, y: Any, hypotheses: Any, *, public: Any) -> Any:
    """Score the patterns on the private records, and return their errors on the public points instead."""
    real(X, y, hypotheses, public=public)
    return real(public, np.arange(len(public)) % 2, hypotheses, public=public)


def by_name(real: Twin, query: Any, data: Any) -> tuple[Any, int]:
    """Ask the data, and tell the length of the query's name instead."""
    real(query, data)
    return len(query.name), 10_000


PLACES: dict[str, Twin] = {
    # votes, sums of scores, distances to instability: what `release.loop.step` and the service's clerk hand over
    "mapl.mechanisms.votes.confident_max:ConfidentMax.release": by_votes,
    "mapl.mechanisms.votes.ladder:Ladder.release": by_votes,
    "mapl.mechanisms.votes.ladder_then_link:LadderThenLink.release": by_votes,
    "mapl.mechanisms.votes.ladder_then_max:LadderThenMax.release": by_votes,
    "mapl.mechanisms.votes.lattice_link:LatticeLink.release": by_votes,
    "mapl.mechanisms.votes.link:Link.release": by_votes,
    "mapl.mechanisms.votes.majority:Majority.release": by_votes,
    "mapl.mechanisms.votes.noisy_max:NoisyMax.release": by_votes,
    "mapl.mechanisms.scores.noisy_mean:NoisyMean.release": by_votes,
    "mapl.mechanisms.single.single:AnswersEverything.release": by_votes,
    "mapl.mechanisms.papers.sparse_vector:SparseVector.release": by_votes,
    "mapl.mechanisms.papers.stable_once:StableOnce.release": by_votes,
    "mapl.mechanisms.votes.threshold_ladder:ThresholdLadder.release": by_votes,
    # whole numbers: teachers' errors, counts in cells, units that a candidate is right about
    "mapl.release.error_estimate:ErrorEstimate.release": by_numbers,
    "mapl.release.cell_counts:CellCounts.release": by_numbers,
    "mapl.release.best_of:BestOf.release": by_numbers,
    # sums of what units contribute
    "mapl.release.moment_sums:MomentSums.release": by_sums,
    # hidden samples: one bit per question, one rule in all, one confidence
    "mapl.prediction.prices.auto:PaddedPredictor.answer": by_question,
    "mapl.prediction.predictors.stable:StablePredictor.answer": by_question,
    "mapl.prediction.predictors.subsampled:Subsampled.answer": by_question,
    "mapl.prediction.predictors.teachers_vote:TeachersVote.answer": by_question,
    "mapl.prediction.predictors.two_stage:TwoStage.answer": by_question,
    "mapl.prediction.predictors.confidence:Confidence.at": by_place,
    "mapl.prediction.spending.one_rule:score_patterns": by_public_points,
    # queries of a user's own: the value is published with its name
    "mapl.release.queries.oracle:ask": by_name,
}

ELSEWHERE = {
    "mapl.release.moment_sums:SumsStage.release": "asks MomentSums.release, and records what that returns",
    "mapl.mechanisms.mechanism:Mechanism.release": "a protocol",
    "mapl.prediction.predictors.predictor:Predictor.answer": "a protocol",
    "mapl.prediction.predictors.padded_stumps:PaddedStumps.answer": "asked through PaddedPredictor.answer",
    "mapl.prediction.predictors.semi_private:SemiPrivate.release": "for libraries; others score by one_rule",
    "mapl.release.private_selection:RandomRepetition.release": "for libraries; it draws no private value itself",
}
"""What draws with coins and is not swapped, and why not."""


UNREACHED = {
    "mapl.prediction.predictors.two_stage:TwoStage.answer": "for tables of 10^10 records",
    "mapl.prediction.predictors.subsampled:Subsampled.answer": "for libraries",
}
"""Swapped, and passed by no case."""


def public_block(block: Any, mechanism: Any) -> Any:
    """Return made-up private values of the same shape: mostly unanimous, every fifth question nearly a tie."""
    n, places = len(block), np.arange(len(block))
    if isinstance(block, Tallies | Medians):
        counts, everybody = np.zeros_like(block.counts), block.n_teachers
        winners = places % block.n_classes
        if isinstance(block, Medians):
            winners = np.minimum(winners, block.last)
        counts[places, winners] = everybody
        close = places % 5 == 4
        counts[close, winners[close]] -= everybody // 2
        counts[close, (winners[close] + 1) % 2] += everybody // 2
        return Tallies(counts) if isinstance(block, Tallies) else replace(block, counts=counts)
    if isinstance(block, Sums):
        return replace(block, totals=(places % (mechanism.most + 1)).astype(block.totals.dtype))
    distances = np.where(places % 5 == 4, 0, 10_000)
    if isinstance(block, StableAnswers):
        return StableAnswers(np.zeros(n, dtype=np.int32), distances)
    assert isinstance(block, Block), f"a replay knows no public twin of {type(block).__name__}"
    return Block(distances)


def freeze(patch: pytest.MonkeyPatch) -> Counter[str]:
    """Swap private values at every place; return how often each place was passed."""
    passed: Counter[str] = Counter()
    for place, twin in PLACES.items():
        module, _, path = place.partition(":")
        owner: Any = importlib.import_module(module)
        *parents, name = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        patch.setattr(owner, name, _swapped(getattr(owner, name), twin, place, passed))
    return passed


def _swapped(real: Twin, twin: Twin, place: str, passed: Counter[str]) -> Twin:
    @functools.wraps(real)
    def swapped(*given: Any, **named: Any) -> Any:
        passed[place] += 1
        return twin(real, *given, **named)

    return swapped
