"""An exact adversary against soft labels: all neighbouring scores of a small world, and what is published of them.

Medians are decided by how many scores lie in each cell, so neighbouring data move one teacher from a cell to
another: all such pairs are listed. A sum changes by what one teacher's part can change by: all pairs of scores of
one teacher are listed, on top of what the others say. In both cases the adversary may ask any pair, at any time, by
all that was published before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mapl.audit.examine import Claim, Found, conclude
from mapl.audit.finding import Finding
from mapl.audit.votes.adversary import Game, lower_delta, upper_delta
from mapl.audit.votes.histograms import Pairs, histograms, neighbours
from mapl.audit.votes.limits import RunEnds
from mapl.audit.votes.moments import divergence, impossible
from mapl.mechanisms import AnyMechanism
from mapl.mechanisms.scores.noisy_mean import NoisyMean, Sums
from mapl.mechanisms.scores.scores import TOP, Medians
from mapl.types import Budget, State, positive_integer

Means = TypeVar("Means", bound=NoisyMean)
ADJACENCY = "one teacher's scores change arbitrarily on any number of questions"


def audit_medians(
    mechanism: AnyMechanism,
    budget: Budget,
    *,
    n_teachers: int,
    n_cells: int = 3,
    questions: int = 20,
    law: Any = None,
) -> Finding:
    """Compare what a mechanism claims with what an adversary learns of rounded medians.

    Parameters
    ----------
    mechanism
        A mechanism without a secret that reads values and distances, such as the ladder.
    law
        What actually runs, if that is not the mechanism: a broken twin.
    """
    positive_integer(n_teachers=n_teachers, n_cells=n_cells, questions=questions)
    real = mechanism if law is None else law
    rows = histograms(n_teachers, n_cells)
    block = Medians(rows, np.full(len(rows), n_cells - 1, dtype=np.int64))
    chances = real.chances(block, State())
    before, after = neighbours(rows)
    pairs = Pairs.of(chances[before], chances[after], n_cells)
    limits = RunEnds(abstentions=int(mechanism.parameters["max_abstentions"]))
    return examine_pairs(mechanism, budget, pairs, limits, questions)


def in_coarse_steps(mechanism: Means, grain: int, n_teachers: int) -> Means:
    """Return the same mechanism in a world of few teachers and coarse steps: its price is the same."""
    sigma = mechanism.sigma * grain / mechanism.grain
    return replace(mechanism, sigma=sigma, grain=grain, n_teachers=n_teachers)


def audit_means(
    mechanism: NoisyMean, budget: Budget, *, questions: int | None = None, law: NoisyMean | None = None
) -> Finding:
    """Compare what noisy means claim with what an adversary learns when one teacher's scores change.

    Parameters
    ----------
    mechanism
        With few teachers and coarse steps (`in_coarse_steps`): every sum and every published number is listed.
    law
        What actually runs, if that is not the mechanism: a broken twin.
    """
    real = mechanism if law is None else law
    scores = np.arange(TOP + 1, dtype=np.int64)
    others = (real.n_teachers - 1) * int(real.parts(np.array([real.low]), np.zeros(1, dtype=np.int64))[0])
    totals = np.unique(
        [others + real.parts(scores, np.full(len(scores), dice)) for dice in (0, real.high - real.low - 1)]
    )
    chances = real.chances(Sums(totals, real.n_teachers, real.n_classes), State())
    one, other = np.nonzero(~np.eye(len(totals), dtype=np.bool_))
    pairs = Pairs.of(chances[one], chances[other], real.n_classes)
    asked = real.max_answers if questions is None else questions
    certified = real.certify(budget)
    return examine_pairs(mechanism, budget, pairs, RunEnds(answers=real.max_answers), asked, certified=certified)


def examine_pairs(
    mechanism: AnyMechanism,
    budget: Budget,
    pairs: Pairs,
    limits: RunEnds,
    questions: int,
    *,
    certified: bool | None = None,
) -> Finding:
    """Play the optimal adaptive adversary, and weigh what it reaches against the claim."""
    claim = Claim(mechanism.epsilon(None, budget.delta), budget.delta, mechanism.total)
    game = Game.of(pairs, limits, questions)
    found = Found(impossible=impossible(game))
    found.divergences = {order: divergence(game, order) for order, _ in claim.loss.divergences}
    found.upper, policy = upper_delta(game, claim.epsilon)
    found.lower = lower_delta(game, claim.epsilon, policy)
    found.details = {"pairs": len(pairs)}
    found_all = conclude(mechanism.name, claim, budget, found, certified, limits, questions)
    return replace(found_all, adjacency=ADJACENCY)
