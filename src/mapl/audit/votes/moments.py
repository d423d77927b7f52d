"""Exact Renyi moments of the optimal adaptive adversary: products, so numbers take the place of functions.

With W the largest moment sum P^a Q^(1-a) that is still to come, a question that may be answered (A) or abstained
on (B) is worth ``max over pairs of A W_answered + B W_abstained``. Where answers are unlimited and abstentions are
not, the limit of ever more questions is the fixed point W = W_abstained max B/(1-A). All in logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from mapl.audit.votes.adversary import Game
from mapl.audit.votes.histograms import Pairs
from mapl.types import Floats


def divergence(game: Game, order: float) -> float:
    """Return the largest Renyi divergence at an order, or the largest log-ratio at order infinity.

    Outcomes that are impossible on one side are left out; `impossible` accounts for them.
    """
    if math.isinf(order):
        return steepest(game)
    answered, abstained = (log_moments(game.pairs, order, abstains=kind) for kind in (False, True))
    return _largest(game, answered, abstained) / (order - 1)


def log_moments(pairs: Pairs, order: float, *, abstains: bool) -> Floats:
    """Return ln of the sum of p^a q^(1-a) over one kind of outcome, for each pair."""
    columns = pairs.abstains == abstains
    p, ratio = pairs.p[:, columns], pairs.log_ratios()[:, columns]
    if p.shape[1] == 0:
        return np.full(len(p), -np.inf)
    with np.errstate(divide="ignore"):
        terms = np.where(p > 0, np.log(p) + (order - 1) * ratio, -np.inf)
    return np.asarray(np.logaddexp.reduce(terms, axis=1))


def _largest(game: Game, answered: Floats, abstained: Floats) -> float:
    if game.abstentions is not None and game.answers is None:
        return game.abstentions * _per_abstention(game.pairs, answered, abstained)
    value = np.zeros(game.shape)
    for _ in range(game.questions):
        before = value.copy()
        for state in game.live():
            on_answer, on_abstention = (value[game.after(state, abstained=kind)] for kind in (False, True))
            best = float(np.logaddexp(answered + on_answer, abstained + on_abstention).max())
            before[state] = max(value[state], best)
        value = before
    return float(value[game.start])


def _per_abstention(pairs: Pairs, answered: Floats, abstained: Floats) -> float:
    """Return the growth of the fixed point: for every abstention, any number of questions is asked."""
    # Where answering alone does not lose moment, asking for ever has no limit.
    room = -np.expm1(answered)
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.where(room > 0, abstained - np.log(np.maximum(room, 1e-300)), np.inf)
    return max(0.0, float(growth.max()))


def steepest(game: Game) -> float:
    """Return the largest log-ratio of anything that can be published in the run."""
    ratio, possible = game.pairs.log_ratios(), game.pairs.p > 0
    most = {
        kind: float(np.where(possible & (game.pairs.abstains == kind), ratio, -np.inf).max())
        for kind in (False, True)
    }
    value = np.zeros(game.shape)
    for _ in range(game.questions):
        before = value.copy()
        for state in game.live():
            options = (most[kind] + value[game.after(state, abstained=kind)] for kind in (False, True))
            before[state] = max(value[state], *options)
        value = before
    return float(value[game.start])


def impossible(game: Game) -> float:
    """Return the largest probability under P of ever publishing what Q cannot."""
    pairs = game.pairs
    answered, abstained = (pairs.p[:, pairs.abstains == kind].sum(axis=1) for kind in (False, True))
    value = np.zeros(game.shape)
    for _ in range(game.questions):
        before = value.copy()
        for state in game.live():
            on_answer, on_abstention = (value[game.after(state, abstained=kind)] for kind in (False, True))
            best = float((pairs.impossible + answered * on_answer + abstained * on_abstention).max())
            before[state] = max(value[state], best)
        value = before
    return float(value[game.start])
