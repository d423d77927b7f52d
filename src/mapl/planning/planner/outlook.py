"""What a budget would buy, estimated in a moment: for comparing thousands of plans before any is calibrated.

Ladders are traced without certificate (`quick_ladders`), noisy answers are priced by the limiting cost of a noisy
argmax. The plans that come out best are then calibrated exactly and forecast by exact expectation; nothing here is
ever run or promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mapl.mechanisms.tables.argmax_price import MOST_SIGMA_EXACT
from mapl.mechanisms.votes.ladder import MOST_ABSTENTIONS
from mapl.planning.choosing.noise_grid import LOOSE_PRICE, PRICE, TEST_PRICE
from mapl.planning.planner.estimated_prices import EstimatedPrices
from mapl.planning.planner.student import student_accuracy
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.planning.votes.model import ExpectedVotes
from mapl.types import Floats

MechanismFamily = Literal["ladder", "ladder-then-argmax", "argmax", "confident"]

LINK_SLOPE = {2: 0.985 * math.sqrt(2 / math.pi), 3: 0.91 * math.sqrt(2 / math.pi)}
"""A link's chance of the winner is close to (1 + sin(slope z)) / 2 where Gaussian noise of the same price has
Phi(z); two or three classes have a link."""
LIMITS, FARTHEST, NUMBERS_ASKED = 13, 3000, 12
"""So many limits on abstentions are compared up to FARTHEST, and beyond in the same ratios."""
NEARLY_ALL = np.array([0.95, 0.9, 0.8, 0.7])
BARS = np.array([0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95])
"""Shares of the votes that a consensus test may ask for."""
TEST_SHARE = 0.2
"""Share of the budget that consensus tests take, as confident-max divides it."""
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


@dataclass(frozen=True, slots=True)
class TeacherCrowd:
    """K teachers and their expected votes, with what every estimate reads off them."""

    n_teachers: int
    n_classes: int
    votes: ExpectedVotes
    distances: Floats
    winners_votes: Floats
    leads: Floats
    weights: Floats

    @classmethod
    def of(cls, votes: ExpectedVotes, n_teachers: int, n_classes: int) -> TeacherCrowd:
        block = votes.agreement.tallies(n_teachers, n_classes)
        counts = block.counts.astype(np.float64)
        rivals = np.delete(counts, 1, axis=1)
        return cls(
            n_teachers,
            n_classes,
            votes,
            block.distances.astype(np.float64),
            counts[:, 1],
            counts[:, 1:2] - rivals,
            votes.agreement.weights(),
        )

    def chance_of_winner(self, sigma: Floats, *, link: bool = True) -> Floats:
        """Return for each noise and group the chance that a noisy argmax, or the link, gives the winner."""
        from scipy.special import ndtr

        z = self.leads[None] / (math.sqrt(2) * np.maximum(sigma, 0.2))[:, None, None]
        if link and self.n_classes in LINK_SLOPE:
            chances = (1 + np.sin(np.minimum(LINK_SLOPE[self.n_classes] * z, math.pi / 2))) / 2
        else:
            chances = ndtr(z)
        return np.asarray(np.prod(chances, axis=2))


@dataclass(frozen=True, slots=True)
class Outlook:
    """An estimated plan: answered and abstained are expected numbers of questions."""

    family: MechanismFamily
    n_teachers: int
    limit: int | None
    asked: int
    answered: float
    winners: float
    abstained: float
    label_accuracy: float
    plurality_accuracy: float
    student_accuracy: float | None
    sigma: float | None = None
    """The noise of an answer, where there is noise on counts."""
    test: tuple[int, float] | None = None
    """Votes that a consensus test asks for, and its noise."""


def limits_for(n_queries: int, fixed: int | None = None) -> tuple[int, ...]:
    """Return the limits on abstentions that are worth comparing."""
    if fixed is not None:
        return (fixed,)
    most = min(n_queries, MOST_ABSTENTIONS)
    more = math.ceil((LIMITS - 1) * math.log(max(most / FARTHEST, 1)) / math.log(FARTHEST))
    return tuple(sorted({round(t) for t in np.geomspace(1, most, LIMITS + more)}))


def outlooks(
    crowd: TeacherCrowd,
    prices: EstimatedPrices,
    n_queries: int,
    *,
    must_answer: bool,
    curve: LearningCurve | None,
    only_limits: bool = False,
    n_asked: int = NUMBERS_ASKED,
) -> list[Outlook]:
    """Estimate every kind of plan for one crowd; limits that leave nothing to answer are among them.

    Parameters
    ----------
    only_limits
        Leave out kinds of plans that have no limit on abstentions.
    n_asked
        How many numbers of questions are compared where fewer of them could be asked with less noise.
    """
    found = []
    if not must_answer:
        ladders = prices.ladders
        found = estimate_abstaining(crowd, ladders.abstaining(crowd.distances), ladders.limits, n_queries, curve)
    found += _with_fallback(crowd, prices, n_queries, curve)
    if only_limits:
        return found
    if not must_answer:
        found += _confident(crowd, prices.rho, n_queries, curve, n_asked)
    return found + _answering_all(crowd, prices.rho, n_queries, curve, n_asked)


def estimate_abstaining(
    crowd: TeacherCrowd, y: Floats, limits: NDArray[np.int64], m: int, curve: LearningCurve | None
) -> list[Outlook]:
    """Estimate plans that publish the winner or abstain; `y` has the chances of abstaining, limits in rows."""
    taken = _taken(crowd, y, limits, m)
    answers = (1 - y) * crowd.weights * m * taken[:, None]
    abstained = (y @ crowd.weights) * m * taken
    return [
        _outlook(crowd, "ladder", int(t), m, win, np.zeros_like(win), float(bots), curve)
        for t, win, bots in zip(limits, answers, abstained, strict=True)
    ]


def _with_fallback(
    crowd: TeacherCrowd, prices: EstimatedPrices, m: int, curve: LearningCurve | None
) -> list[Outlook]:
    ladders = prices.with_fallback
    limits = ladders.limits // 2
    y = ladders.abstaining(crowd.distances)
    asked = crowd.weights * m * _taken(crowd, y, limits, m)[:, None]
    # Half of the budget answers the abstentions, as many answers as twice that would have from all of it.
    second = crowd.chance_of_winner(_noise(ladders.limits, prices.rho, crowd.n_classes), link=crowd.n_classes == 2)
    win, lose = asked * (1 - y + y * second), asked * y * (1 - second)
    return [
        _outlook(crowd, "ladder-then-argmax", int(t), m, w, lost, 0.0, curve)
        for t, w, lost in zip(limits, win, lose, strict=True)
    ]


def _confident(crowd: TeacherCrowd, rho: float, m: int, curve: LearningCurve | None, n_asked: int) -> list[Outlook]:
    from scipy.special import ndtr

    found = []
    winner = crowd.winners_votes
    for asked in sorted({max(1, round(n)) for n in np.geomspace(m / 10, m, max(3, n_asked // 4))}):
        bars = np.unique(np.round(BARS * crowd.n_teachers))
        testing = math.sqrt(TEST_PRICE * asked / (TEST_SHARE * rho))
        passing = ndtr((winner[None] - bars[:, None]) / testing)
        rate = passing @ crowd.weights
        paid = np.minimum(asked, asked * rate + np.sqrt(asked * rate * (1 - rate)) + 1)
        noise = _noise(paid, (1 - TEST_SHARE) * rho, crowd.n_classes)
        chances = crowd.chance_of_winner(noise, link=False)
        passed = asked * crowd.weights * passing
        for bar, sigma, taken, chance in zip(bars, noise, passed, chances, strict=True):
            win, lose = taken * chance, taken * (1 - chance)
            one = _outlook(crowd, "confident", None, asked, win, lose, asked - float(taken.sum()), curve)
            found.append(replace(one, sigma=float(sigma), test=(int(bar), testing)))
    return found


def _answering_all(
    crowd: TeacherCrowd, rho: float, m: int, curve: LearningCurve | None, n_asked: int
) -> list[Outlook]:
    linked = crowd.n_classes in LINK_SLOPE
    asked = numbers_asked(m, n_asked)
    noise = _noise(asked, rho, 2 if linked else crowd.n_classes)
    found = with_noise(crowd, asked, noise, curve, link=linked)
    return [replace(one, sigma=None) for one in found] if linked else found


def numbers_asked(m: int, n_asked: int) -> NDArray[np.int64]:
    """Return how many of the questions might be asked: all, nearly all, or far fewer with less noise."""
    few = np.geomspace(max(1, min(m, 10)), m, n_asked)
    return np.unique(np.round(np.concatenate([few, m * NEARLY_ALL])).clip(1, m)).astype(np.int64)


def with_noise(
    crowd: TeacherCrowd, asked: NDArray[np.int64], sigma: Floats, curve: LearningCurve | None, *, link: bool = False
) -> list[Outlook]:
    """Estimate plans that answer so many questions with so much noise on every count."""
    found = []
    for n, scale, chance in zip(asked, sigma, crowd.chance_of_winner(sigma, link=link), strict=True):
        win, lose = n * crowd.weights * chance, n * crowd.weights * (1 - chance)
        one = _outlook(crowd, "argmax", None, int(n), win, lose, 0.0, curve)
        found.append(replace(one, sigma=float(scale)))
    return found


def _noise(answers: Floats | NDArray[np.int64], rho: float, n_classes: int) -> Floats:
    """Return the noise that so many noisy argmaxes need; of three or more classes and wide noise less is proved."""
    tight = np.sqrt(PRICE * answers / rho)
    if n_classes == 2:
        return tight
    return np.where(
        tight <= MOST_SIGMA_EXACT, tight, np.maximum(MOST_SIGMA_EXACT, np.sqrt(LOOSE_PRICE * answers / rho))
    )


def _taken(crowd: TeacherCrowd, y: Floats, limits: NDArray[np.int64], m: int) -> Floats:
    """Return the expected share of questions taken before the limit halts the run.

    As `forecast.chance_of_being_reached` does.
    """
    mean = m * (y @ crowd.weights)
    deviation = np.sqrt(m * ((y * (1 - y)) @ crowd.weights))
    others = np.maximum(mean[:, None] + deviation[:, None] * NODES, 0.0)
    shares = np.minimum(1.0, limits[:, None] / (others + 1))
    return np.asarray(shares @ (NODE_WEIGHTS / NODE_WEIGHTS.sum()))


def _outlook(
    crowd: TeacherCrowd,
    family: MechanismFamily,
    limit: int | None,
    asked: int,
    win: Floats,
    lose: Floats,
    abstained: float,
    curve: LearningCurve | None,
) -> Outlook:
    winners, answered = float(win.sum()), float((win + lose).sum())
    right = np.array(crowd.votes.right)
    second = 1 - right if crowd.votes.second_right is None else np.array(crowd.votes.second_right)
    accuracy = min(float(win @ right + lose @ second) / answered, 1.0) if answered > 0 else 0.0
    plurality = crowd.votes.plurality_accuracy
    student = None
    if curve is not None:
        student = student_accuracy(
            curve,
            labels=answered,
            label_accuracy=accuracy,
            plurality_accuracy=plurality,
            n_classes=crowd.n_classes,
        )
    return Outlook(
        family, crowd.n_teachers, limit, asked, answered, winners, abstained, accuracy, plurality, student
    )
