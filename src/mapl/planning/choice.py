"""Choosing a mechanism and the settings that were left open, from public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.errors import CannotCalibrate
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.planning.agreement import Agreement
from mapl.planning.forecast import Forecast, forecast, reached
from mapl.types import State


@dataclass(frozen=True, slots=True)
class Choice:
    """A calibrated mechanism and, in words, why it was taken."""

    mechanism: AnyMechanism
    why: str


def choose(name: str, task: Task, *, agreement: Agreement, must_answer: bool, settings: dict[str, Any]) -> Choice:
    """Return the named mechanism, or for "auto" the one that is expected to release most; votes are never read."""
    if name == "auto":
        name = "ladder"
    given = {k: v for k, v in settings.items() if v is not None}
    if "max_abstentions" in entry(name).settings and "max_abstentions" not in given:
        return _best_limit(name, task, agreement, given)
    return Choice(make(name, task, **given), "as asked")


def _best_limit(name: str, task: Task, agreement: Agreement, given: dict[str, Any]) -> Choice:
    best: tuple[float, int, AnyMechanism] | None = None
    for limit in _limits(task.n_queries):
        try:
            mechanism = make(name, task, max_abstentions=limit, **given)
        except CannotCalibrate:
            continue
        expected = expect(mechanism, task, agreement).answered
        if best is None or expected > best[0]:
            best = (expected, limit, mechanism)
    if best is None:
        raise CannotCalibrate(
            f"{name} cannot pay for a single abstention with this budget; raise epsilon or delta."
        )
    expected, limit, mechanism = best
    return Choice(
        mechanism,
        f"max_abstentions {limit} is expected to answer {expected:.0f} of {task.n_queries} questions "
        f"if the winner's share of the votes is {agreement}",
    )


def _limits(n_queries: int) -> list[int]:
    most = min(n_queries, 2000)
    return sorted({round(t) for t in np.geomspace(1, most, 16)})


def expect(mechanism: AnyMechanism, task: Task, agreement: Agreement) -> Forecast:
    """Forecast a run on the declared agreement."""
    block = agreement.tallies(task.n_teachers, task.n_classes)
    chances = mechanism.chances(block, State())
    questions = np.round(agreement.weights() * task.n_queries).astype(np.int64)
    taken = reached(questions, 1 - chances[:, : task.n_classes].sum(axis=1), mechanism.max_abstentions)
    return forecast(chances * (questions * taken)[:, None], block.values, task.n_classes)
