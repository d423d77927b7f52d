"""Every mechanism that fits a task, calibrated, with what it is expected to release: best first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mapl.errors import CannotCalibrate, MaplError
from mapl.mechanisms import AnyMechanism, Task, make
from mapl.mechanisms.votes.ladder import MOST_ABSTENTIONS
from mapl.planning.choosing import candidates
from mapl.planning.choosing.expectation import Expected, count_asked, expect, fidelity
from mapl.planning.choosing.forecast import Forecast
from mapl.planning.choosing.limits import (
    USEFUL,
    best_ladder,
    best_limit,
    best_threshold_ladder,
    ladder_for,
    rungs_for,
)

FLOOR = 0.99
"""The share of answers that should give the teachers' winner: at most one point of accuracy is lost to noise."""
SAFETY, FITTED_SAFETY = 0.06, 0.17
"""These shares of what may be lost are left unspent: real questions are never quite like those declared, and the
more settings are fitted to the declared ones the less they are."""
AS_GOOD = 0.98
"""Of options that answer nearly as much as the best one, the one with most good labels comes first."""
ROUNDING = 2e-4
"""How far below the floor an option may be for the sake of whole numbers of votes and questions."""
ALIKE = 0.998
FALLBACKS = ("ladder-then-link", "ladder-then-max")
SIMPLEST = ("link", "noisy-max", "ladder", "threshold-ladder", *FALLBACKS, "confident-max")
"""Of options with about the same number of good labels the first of these is taken."""
HARDLY = 0.05
FEW_ABSTENTIONS = 20
"""A threshold-ladder can only beat a ladder that does best with at most this many abstentions."""


@dataclass(frozen=True, slots=True)
class Option:
    """A calibrated mechanism, how many questions it should be asked, and what it is expected to publish.

    ``n_queries`` may be fewer than the task has: asking fewer, with less noise, can give more good labels.
    Mechanisms that add noise to counts of three or more classes are priced to within a percent; `choose` prices the
    one that it takes exactly.
    """

    mechanism: AnyMechanism
    name: str
    n_queries: int
    forecast: Forecast


def options(task: Task, agreement: Expected, *, must_answer: bool, floor: float = FLOOR) -> list[Option]:
    """Return calibrated candidates, best first; votes are never read.

    Those whose expected agreement with the winner is at least `floor` come first, by expected answers; the others
    follow by expected winners. Where the agreement is a public sample with known truth, the floor is about
    accuracy: labels may be wrong more often than the winner by at most 1 - floor. With `must_answer` every question
    is answered and the expected number of winners decides.

    Raises CannotCalibrate, or the one reason that all mechanisms give, if none fits.
    """
    made: list[Option] = []
    refusals: list[MaplError] = []

    def offer(make_one: Callable[[], AnyMechanism | None]) -> None:
        try:
            mechanism = make_one()
        except MaplError as refusal:
            refusals.append(refusal)
            return
        if mechanism is not None:
            made.append(_option(mechanism, task, agreement))

    if must_answer:
        offer(lambda: candidates.find_answerer_of_all(task))
        offer(lambda: _with_fallback(task, agreement))
        made.sort(key=lambda o: -o.forecast.winners)
    else:
        offer(lambda: best_ladder(task, agreement)[0])
        if made and _worth_a_threshold(made[0], task):
            offer(lambda: best_threshold_ladder(task, agreement)[0])
        aim, fitted_aim = (floor + safety * (1 - floor) for safety in (SAFETY, FITTED_SAFETY))
        offer(lambda: (candidates.link if task.n_classes <= 3 else candidates.noisy_max)(task, agreement, aim))
        offer(lambda: candidates.confident_max(task, agreement, fitted_aim))
        offer(lambda: _behind(made[0], task, agreement) if made else None)
        made = _ranked(made, task, agreement, floor)
    if not made:
        reasons = list(dict.fromkeys(map(str, refusals)))
        raise refusals[0] if len(reasons) == 1 else CannotCalibrate("No mechanism fits. " + " ".join(reasons))
    return made


def _option(mechanism: AnyMechanism, task: Task, agreement: Expected) -> Option:
    n_queries = count_asked(mechanism, task.n_queries)
    return Option(mechanism, mechanism.name, n_queries, expect(mechanism, task, agreement))


def _ranked(made: list[Option], task: Task, agreement: Expected, floor: float) -> list[Option]:
    """Sort by answers, those first that keep the floor; of options as good as the best the simplest leads."""
    kept = [o for o in made if fidelity(o.forecast, task, agreement) >= floor - ROUNDING]
    # What could not even answer a unanimous vote would be refused; it is left only if nothing else is.
    useful = [o for o in kept if o.mechanism.chance_if_unanimous(task.n_teachers, task.n_classes) >= USEFUL]
    kept = useful or kept
    others = sorted((o for o in made if o not in kept), key=lambda o: -o.forecast.winners)
    most = max((o.forecast.answered for o in kept), default=0.0)
    good = [o for o in kept if o.forecast.answered >= AS_GOOD * most]
    winners = max((o.forecast.winners for o in good), default=0.0)
    good.sort(key=lambda o: (o.forecast.winners < ALIKE * winners, SIMPLEST.index(o.name), -o.forecast.winners))
    return good + sorted((o for o in kept if o not in good), key=lambda o: -o.forecast.answered) + others


def _worth_a_threshold(ladder: Option, task: Task) -> bool:
    """Say whether a threshold-ladder can be better: few abstentions, and teachers enough to pass some questions."""
    once = ladder_for(task.budget, 1, rungs_for(task.n_teachers))
    passing = once.chance_if_unanimous(task.n_teachers, task.n_classes)
    return getattr(ladder.mechanism, "max_abstentions", 0) <= FEW_ABSTENTIONS and passing >= HARDLY


def fallback_for(task: Task) -> str:
    """Name the ladder whose abstentions are answered by the better second stage for so many classes."""
    return "ladder-then-link" if task.n_classes == 2 else "ladder-then-max"


def _behind(ladder: Option, task: Task, agreement: Expected) -> AnyMechanism | None:
    """Return the best ladder with a fallback behind it, if the plain one nearly answers everything already."""
    expected = ladder.forecast
    if ladder.name != "ladder" or expected.answered < 0.8 * task.n_queries or expected.abstained < 0.5:
        return None
    tried = []
    for factor in (1.5, 3.0) if task.n_classes > 2 else (1.2, 1.8, 3.0):
        limit = min(round(factor * expected.abstained) + 3, task.n_queries)
        tried.append(make(fallback_for(task), task, max_abstentions=limit))
    return max(tried, key=lambda m: expect(m, task, agreement).winners)


def few_abstentions(task: Task, agreement: Expected) -> bool:
    """Say whether a ladder would abstain on so few questions that answering those separately can pay."""
    limit = min(max(1, task.n_queries // 10), MOST_ABSTENTIONS)
    try:
        ladder = make("ladder", task, max_abstentions=limit)
    except CannotCalibrate:
        return False
    expected = expect(ladder, task, agreement)
    return expected.answered + expected.abstained >= 0.95 * task.n_queries


def _with_fallback(task: Task, agreement: Expected) -> AnyMechanism | None:
    """Return a ladder whose abstentions are answered, too, where it abstains so rarely that this can pay."""
    if not few_abstentions(task, agreement):
        return None
    return best_limit(fallback_for(task), task, agreement, {})[0]
