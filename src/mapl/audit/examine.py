"""The audit itself: claims from one object, behaviour from another (the same one, if the mechanism is honest)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mapl.accounting import Loss, capacity
from mapl.audit.finding import Finding, Verdict
from mapl.audit.votes.adversary import Game, lower_delta, upper_delta
from mapl.audit.votes.coupled import coupled_delta
from mapl.audit.votes.histograms import NEVER, Law, Pairs, pairs_of
from mapl.audit.votes.limits import RunEnds, limits_of
from mapl.audit.votes.moments import divergence, impossible
from mapl.audit.votes.secrets import Secrets, secrets_of
from mapl.audit.votes.transcripts import Menu, Run, best_adaptive, block_strategies, hockey_stick, moment
from mapl.errors import InvalidParameter
from mapl.mechanisms import AnyMechanism
from mapl.types import Budget, positive_integer

ROUNDING = 1e-6
"""Relative: exact laws are evaluated in double precision, and orders of a hundred cost digits."""
NOTHING = 1e-15
MOST_EPSILON = 30.0
ADAPTIVE_QUESTIONS = 3
"""Questions of the fully adaptive strategies against a secret; one less where it has many values."""
MANY_SECRETS = 3_000
LONGEST_EPOCH = 64


@runtime_checkable
class Certified(Protocol):
    """A mechanism whose table comes with a certificate."""

    def certify(self, budget: Budget) -> bool: ...


@dataclass(frozen=True)
class Claim:
    """What a mechanism claims of a whole run: an epsilon at delta, and the Renyi curve behind it."""

    epsilon: float
    delta: float
    loss: Loss


@dataclass
class Found:
    """The best adversary so far."""

    lower: float = 0.0
    upper: float | None = None
    impossible: float = 0.0
    divergences: dict[float, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


def audit(
    mechanism: AnyMechanism,
    budget: Budget,
    *,
    n_teachers: int,
    n_classes: int,
    questions: int = 40,
    law: Law | None = None,
) -> Finding:
    """Compare what a mechanism claims with what an adversary, who knows all but the coins, can reach.

    Parameters
    ----------
    mechanism
        Whose claim is examined: its epsilon at the budget's delta, and its Renyi curve.
    questions
        How many questions the adversary asks, at least one more than the allowed abstentions.
    law
        What actually runs, if that is not the mechanism: a broken twin.

    Examples
    --------
    >>> from mapl.mechanisms import Task, make
    >>> budget = Budget(2.0, 1e-5)
    >>> ladder = make("ladder", Task(budget, 100, 2, 40), max_abstentions=2)
    >>> audit(ladder, budget, n_teachers=100, n_classes=2, questions=10).verdict.value
    'within the claim'
    """
    positive_integer(n_teachers=n_teachers, questions=questions)
    claim = Claim(mechanism.epsilon(None, budget.delta), budget.delta, mechanism.total)
    if math.isinf(claim.epsilon):
        return Finding(
            mechanism.name,
            math.inf,
            budget.delta,
            1.0,
            1.0,
            None,
            None,
            None,
            None,
            Verdict.claims_nothing,
            questions,
        )
    if claim.epsilon > MOST_EPSILON:
        raise InvalidParameter(
            f"The claimed epsilon is {claim.epsilon:g}; an audit takes at most {MOST_EPSILON:g}, beyond which "
            "nothing is promised that is worth auditing."
        )
    real: Law = mechanism if law is None else law
    limits = limits_of(real, n_teachers, n_classes, questions)
    secrets = secrets_of(real)
    if secrets is None:
        found = against_open(real, claim, limits, n_teachers, n_classes, questions)
    else:
        found = against_secret(real, secrets, claim, limits, n_teachers, questions)
    certified = real.certify(budget) if isinstance(real, Certified) else None
    return conclude(mechanism.name, claim, budget, found, certified, limits, questions)


def against_open(law: Law, claim: Claim, limits: RunEnds, n_teachers: int, n_classes: int, questions: int) -> Found:
    """Play the optimal adaptive adversary over every neighbouring pair of histograms."""
    pairs = pairs_of(law, n_teachers, n_classes)
    game = Game.of(pairs, limits, questions)
    found = Found(impossible=impossible(game))
    found.divergences = {order: divergence(game, order) for order, _ in claim.loss.divergences}
    upper, policy = upper_delta(game, claim.epsilon)
    found.lower = lower_delta(game, claim.epsilon, policy)
    found.upper = min([upper, *_converted(claim, found)])
    one = Game.of(pairs, RunEnds(), 1)
    found.details = {
        "pairs": len(pairs),
        "largest_log_ratio_of_one_question": divergence(one, math.inf),
        "delta_of_one_question": lower_delta(one, claim.epsilon, upper_delta(one, claim.epsilon)[1]),
    }
    return found


def _converted(claim: Claim, found: Found) -> list[float]:
    """Return the deltas that the exact divergences imply at the claimed epsilon, at every order."""
    deltas = []
    for order, value in found.divergences.items():
        if math.isinf(order):
            if value <= claim.epsilon * (1 + 1e-12):
                deltas.append(found.impossible)
        elif math.isfinite(value):
            exponent = (order - 1) * value - capacity(claim.epsilon, 1.0, order)
            deltas.append(math.exp(min(exponent, 0.0)) + found.impossible)
    return deltas


def against_secret(
    law: Law, secrets: Secrets, claim: Claim, limits: RunEnds, n_teachers: int, questions: int
) -> Found:
    """Play every adaptive strategy of a few questions and long runs of pairs, with the secret's exact law."""
    menu = Menu.of(law, secrets, n_teachers, limits.abstentions)
    epochs = (limits.abstentions or questions) if secrets.refreshed else 1
    longest = min(LONGEST_EPOCH, max(2, questions // epochs)) if secrets.refreshed else questions
    if not secrets.refreshed and limits.abstentions is None:
        longest = min(longest, 12)  # without a limit on abstentions every history has to be kept apart
    found = Found()
    best: tuple[float, str] = (0.0, "none")
    for run in block_strategies(menu, longest):
        game = repeat_game(run, epochs, secrets.least)
        best = max(best, (lower_delta(game, claim.epsilon), run.strategy))
        found.impossible = max(found.impossible, impossible(game))
        for order, _ in claim.loss.divergences:
            found.divergences[order] = max(found.divergences.get(order, 0.0), divergence(game, order))
    few = ADAPTIVE_QUESTIONS - (len(secrets.values) > MANY_SECRETS)
    adaptive = best_adaptive(menu, few, hockey_stick(claim.epsilon))
    order = claim.loss.best_order(claim.delta)
    if math.isfinite(order):
        largest = best_adaptive(menu, ADAPTIVE_QUESTIONS - 1, moment(order, secrets.least))
        found.divergences[order] = max(found.divergences[order], math.log(largest) / (order - 1))
    # Unlisted secrets can only take from what was found.
    found.lower = max(0.0, max(best[0], adaptive) - math.exp(claim.epsilon) * secrets.unlisted * epochs)
    if secrets.is_threshold and limits.abstentions is not None and not name_exceeded(claim, found):
        asked = Budget(claim.epsilon, claim.delta)
        found.upper = coupled_delta(law, secrets, n_teachers, limits.abstentions, questions, asked)
    found.details = {
        "secrets": len(secrets.values),
        "best_long_strategy": best[1],
        "delta_of_long_strategy": best[0],
        "adaptive_questions": few,
        "delta_of_adaptive_questions": adaptive,
    }
    return found


def repeat_game(run: Run, epochs: int, least: float) -> Game:
    """Return the game of playing a strategy again in every epoch, until it does not end in a fresh secret.

    Transcripts with a smaller probability than `least` are left out.
    """
    kept = (run.p > least) & (run.q > least)
    p, q = (np.where(kept, side, 0.0)[None, :] for side in (run.p, run.q))
    gone = np.where(run.q < NEVER, run.p, 0.0).sum()
    pairs = Pairs(p, q, np.array([gone]), run.halts == 0)
    return Game(pairs, None, 1, epochs)


def shares(claim: Claim, found: Found) -> dict[float, float]:
    """Return, at every order, what part of the claimed divergence was found, rounded in the claim's favour."""
    claimed = dict(claim.loss.divergences)
    return {a: max(0.0, value - NOTHING) / max(claimed[a], NOTHING) for a, value in found.divergences.items()}


def name_exceeded(claim: Claim, found: Found) -> list[str]:
    """Name the parts of the claim that an explicit adversary exceeds."""
    parts = {
        "delta": found.lower > claim.delta * (1 + ROUNDING) + NOTHING,
        "Renyi divergence": max(shares(claim, found).values(), default=0.0) > 1 + ROUNDING,
        "chance of an impossible answer": found.impossible > claim.loss.delta * (1 + ROUNDING) + NOTHING,
    }
    return [part for part, is_exceeded in parts.items() if is_exceeded]


def conclude(
    name: str,
    claim: Claim,
    budget: Budget,
    found: Found,
    certified: bool | None,
    limits: RunEnds,
    questions: int,
) -> Finding:
    """Weigh what was found against the claim."""
    broken = name_exceeded(claim, found)
    if claim.epsilon > budget.epsilon:
        broken.append("claimed epsilon above the budget")
    if certified is False:
        broken.append("certificate")
    if broken:
        verdict = Verdict.violated
    elif found.upper is not None and found.upper <= claim.delta * (1 + ROUNDING) + NOTHING:
        verdict = Verdict.within
    else:
        verdict = Verdict.not_exceeded
    used = shares(claim, found)
    order = max(used, key=lambda a: used[a], default=None)
    return Finding(
        mechanism=name,
        epsilon=claim.epsilon,
        delta=claim.delta,
        found_delta_lower=found.lower,
        found_delta_upper=found.upper,
        renyi_order=order,
        renyi_claimed=None if order is None else claim.loss.at(order),
        renyi_found=None if order is None else found.divergences[order],
        certified=certified,
        verdict=verdict,
        questions=min(questions, limits.questions or questions),
        details={
            "exceeded": broken,
            "impossible_claimed": claim.loss.delta,
            "impossible_found": found.impossible,
            "limits": asdict(limits),
            **found.details,
        },
    )
