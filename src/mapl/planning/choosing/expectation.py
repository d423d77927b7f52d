"""What a calibrated mechanism is expected to publish on votes like those that were declared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.mechanisms import AnyMechanism, Task
from mapl.planning.choosing.forecast import Forecast, chance_of_being_reached, forecast
from mapl.planning.votes.agreement import Agreement
from mapl.planning.votes.sample import VoteSample
from mapl.types import Floats, State

Expected = Agreement | VoteSample
"""What may be expected of votes: shares of the winner, or a public sample."""

MOST_STARTS = 41
"""A secret start is spread like a Gaussian, and as many evenly spaced ones give its averages to many digits."""

MISPLACED = 0.01
"""Up to this part of the questions may be in a wrong group when they are shared out as whole numbers."""


def expect(mechanism: AnyMechanism, task: Task, agreement: Expected) -> Forecast:
    """Forecast a run on the declared agreement, by exact expectation over coins and orders of the questions."""
    classes = task.n_classes
    block = agreement.tallies(task.n_teachers, classes)
    asked = count_asked(mechanism, task.n_queries)
    published = np.zeros((len(block), 1))
    for weight, state in _starts(mechanism):
        chances = mechanism.chances(block, state)
        answering = chances[:, :classes].sum(axis=1).clip(0, 1)
        if hasattr(mechanism, "max_abstentions"):
            taken = _taken(agreement, asked, 1 - answering, mechanism.max_abstentions)
        elif hasattr(mechanism, "max_questions") and hasattr(mechanism, "max_answers"):
            taken = _taken(agreement, asked, answering, mechanism.max_answers)
        else:
            taken = np.ones(len(block))
        # Groups may be finer than whole questions.
        published = published + weight * chances * (asked * agreement.weights() * taken)[:, None]
    made = forecast(published, block.values, classes)
    truth = None if isinstance(agreement, Agreement) else agreement.truth(task.n_teachers, classes)
    if truth is None:
        return made
    right = (published[:, :classes] * truth).sum()
    if published.shape[1] > classes + 1:
        right += (published[:, classes + 1 :] * truth).sum()
    return Forecast(made.answered, made.winners, made.abstained, float(right))


def fidelity(made: Forecast, task: Task, agreement: Expected) -> float:
    """Return one less what noise costs in accuracy: plurality's accuracy less that of the labels that are answered.

    Where no truth is known the winner counts as true, and this is the expected agreement with it.
    """
    if made.right is None or isinstance(agreement, Agreement) or not made.answered:
        return made.agreement
    return 1 - (plurality_accuracy(task, agreement) - made.right / made.answered)


def plurality_accuracy(task: Task, agreement: Expected) -> float:
    """Return how often the winner is the true label; 1 where no truth is known."""
    truth = None if isinstance(agreement, Agreement) else agreement.truth(task.n_teachers, task.n_classes)
    if truth is None:
        return 1.0
    winners = agreement.tallies(task.n_teachers, task.n_classes).values
    return float(agreement.weights() @ truth[np.arange(len(winners)), winners])


def count_asked(mechanism: AnyMechanism, n_queries: int) -> int:
    """Return how many of the questions a mechanism takes at most, by its own limits."""
    limits = [getattr(mechanism, name, n_queries) for name in ("n_queries", "max_questions")]
    if not hasattr(mechanism, "max_questions"):
        limits.append(getattr(mechanism, "max_answers", n_queries))
    return min(n_queries, *limits)


def apportion(agreement: Expected, n_queries: int) -> NDArray[np.int64]:
    """Return how many questions fall into each group, as whole numbers that add up."""
    ends = np.round(np.cumsum(agreement.weights()) * n_queries).astype(np.int64)
    return np.diff(ends, prepend=0)


def _taken(agreement: Expected, asked: int, stopping: Floats, limit: int) -> Floats:
    """Return for each group the chance that a question of it is taken, if the run halts after so many stops.

    Few questions cannot be shared out among the groups: they are taken to be drawn at random, and the number of the
    others that stop is then binomial, the same for all groups.
    """
    questions, weights = apportion(agreement, asked), agreement.weights()
    if np.abs(questions - asked * weights).sum() <= MISPLACED * asked:
        return chance_of_being_reached(questions, stopping, limit)
    mean = np.array([weights @ stopping / weights.sum()]).clip(0, 1)
    return np.full(len(weights), chance_of_being_reached(np.array([asked]), mean, limit)[0])


def _starts(mechanism: Any) -> list[tuple[float, State]]:
    if not hasattr(mechanism, "starts"):
        return [(1.0, State())]
    likely = [(weight, state) for weight, state in mechanism.starts() if weight >= 1e-4]
    chosen = likely[:: max(1, len(likely) // MOST_STARTS)]
    total = sum(weight for weight, _ in chosen)
    return [(weight / total, state) for weight, state in chosen]
