"""An upper bound for mechanisms with a secret threshold: let the adversary see it, coupled across neighbours.

P's threshold is matched with Q's threshold that is one lower. Publishing the match only helps the adversary, and
once it is known every question is a plain pair of laws, so that the dynamic programme of `adversary` applies: the
threshold's own log-ratio is paid when it is drawn (once, or after every abstention). A question whose winner
differs is taken out, and its chance of being answered is added at the end: before the first such answer every
such question ends in an abstention, so there are at most as many as abstentions.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mapl.audit.votes.adversary import Backup, LossGrid
from mapl.audit.votes.histograms import Law, Pairs, histograms, neighbours
from mapl.audit.votes.secrets import Secrets
from mapl.types import Budget, Floats, Secret, State, Tallies

FAINT = 0.01
"""Outcomes that are worth together less than this share of delta are granted to the adversary: the chances of
abstaining are differences from one, and have no digits left where they are tiny."""

LEAST = 1e-20
"""Thresholds rarer than this are granted, too."""


def coupled_delta(
    law: Law, secrets: Secrets, n_teachers: int, abstentions: int, questions: int, budget: Budget
) -> float:
    """Return an upper bound on delta at the budget's epsilon of every adaptive adversary."""
    epsilon, faint = budget.epsilon, FAINT * budget.delta / questions
    pairs, thresholds = revealed_pairs(law, secrets, n_teachers, faint), matched_thresholds(secrets)
    draws = abstentions if secrets.refreshed else 1
    # Granted: faint outcomes (and what their absence tells), thresholds that were left out, different winners.
    granted = 2 * questions * faint + 2 * secrets.unlisted * (1 + math.exp(epsilon)) * draws
    granted += different_winner(law, secrets, n_teachers, abstentions)
    pure = steepest_run(pairs, thresholds, draws, abstentions, questions)
    beyond = -math.expm1(min(0.0, epsilon - pure)) + draws * float(thresholds.impossible[0])
    if beyond > FAINT * budget.delta:
        beyond = min(beyond, _optimal(pairs, thresholds, secrets, abstentions, questions, epsilon))
    return min(1.0, granted + beyond)


def _optimal(
    pairs: Pairs, thresholds: Pairs, secrets: Secrets, abstentions: int, questions: int, epsilon: float
) -> float:
    grid = LossGrid.around(epsilon, questions)
    question, threshold = Backup(grid, pairs), Backup(grid, thresholds)

    def drawn(value: Floats) -> Floats:
        return threshold.best(value, value)[0]

    value = [grid.ends()] * (abstentions + 1)
    for _ in range(questions):
        new = [value[0], *(drawn(v) for v in value[1:])] if secrets.refreshed else value
        value = [value[0]] + [
            np.maximum(value[t], question.best(value[t], new[t - 1])[0]) for t in range(1, abstentions + 1)
        ]
    return grid.at(drawn(value[abstentions]), 0.0)


def steepest_run(pairs: Pairs, thresholds: Pairs, draws: int, abstentions: int, questions: int) -> float:
    """Return the largest log-ratio of a whole run: that of every draw, every abstention, every answer."""
    ratio = pairs.log_ratios()
    answering, abstaining = (max(0.0, float(ratio[:, pairs.abstains == kind].max())) for kind in (False, True))
    drawing = max(0.0, float(thresholds.log_ratios().max()))
    return draws * drawing + abstentions * abstaining + questions * answering


def revealed_pairs(law: Law, secrets: Secrets, n_teachers: int, faint: float) -> Pairs:
    """Return the pairs of laws at matched thresholds, at every height of a distance above its threshold."""
    rows = histograms(n_teachers, 2)
    before, after = neighbours(rows)
    same = np.arange(len(rows))
    before, after = np.concatenate([before, same]), np.concatenate([after, same])
    p, q = [], []
    # Only heights matter: thresholds half of the teachers apart see all of them.
    for value in range(min(secrets.values) + 1, max(secrets.values) + n_teachers // 2 + 1, max(1, n_teachers // 2)):
        laws = [law.chances(Tallies(rows), State(secret=Secret(v))) for v in (value, value - 1)]
        # Q answers more often than P, so these are the smaller chances of the two.
        seen = (laws[0][before, 2] > faint) & (1 - laws[1][after, 2] > faint)
        p.append(laws[0][before[seen]])
        q.append(laws[1][after[seen]])
    pairs = Pairs.of(np.concatenate(p), np.concatenate(q), 2)
    return replace(pairs, impossible=np.zeros(len(pairs)))


def matched_thresholds(secrets: Secrets) -> Pairs:
    """Return the law of P's threshold and that of Q's plus one, as one pair; equal log-ratios are one outcome."""
    weight = dict(zip(secrets.values, secrets.weights.tolist(), strict=True))
    grouped: dict[float, list[float]] = {}
    unmatched = 0.0
    for value, p in weight.items():
        q = weight.get(value - 1, 0.0)
        if min(p, q) < LEAST:  # at the ends of a table neighbouring masses have few digits
            unmatched += p
            continue
        total = grouped.setdefault(round(math.log(p / q), 10), [0.0, 0.0])
        total[0] += p
        total[1] += q
    p, q = np.array(list(grouped.values()) or [[0.0, 0.0]]).T
    return Pairs(p[None, :], q[None, :], np.array([unmatched]), np.zeros(len(p), dtype=np.bool_))


def different_winner(law: Law, secrets: Secrets, n_teachers: int, abstentions: int) -> float:
    """Bound the chance that a question whose winner differs between neighbours is ever answered."""
    rows = histograms(n_teachers, 2)
    values = Tallies(rows).values
    before, after = neighbours(rows)
    at_risk = np.unique(before[values[before] != values[after]])
    answered = 1 - secrets.laws(law, rows[at_risk])[:, :, 2]
    if secrets.refreshed:
        return abstentions * float((answered @ secrets.weights).max())
    # One threshold for the whole run: it lets such a question pass, or it does not.
    return float(((answered > 0) @ secrets.weights).max())
