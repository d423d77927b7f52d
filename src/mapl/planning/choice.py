"""Choosing a mechanism and the settings that were left open, from public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.accounting import Loss, smallest_real
from mapl.errors import CannotCalibrate, InvalidParameter, MaplError
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.mechanisms.noisy_max import NoisyMax
from mapl.planning.agreement import Agreement
from mapl.planning.forecast import Forecast, forecast, reached
from mapl.types import State

ENOUGH_AGREEMENT = 0.98
"""Answering everything is preferred, being simplest, if this share of answers is expected to be the winner."""
MOST_THRESHOLD_ABSTENTIONS = 7
PAPER_ABSTENTIONS = 10
ARGMAX_CONSTANT = 0.64
"""A noisy argmax costs about this times order / sigma^2; the exact price decides later."""
USEFUL = 0.5
"""A limit is considered only if a unanimous vote would be answered with at least this probability."""
MOST_ABSTENTIONS = 2000
MANY_TEACHERS = 2000


@dataclass(frozen=True, slots=True)
class Choice:
    """A calibrated mechanism and, in words, why it was taken."""

    mechanism: AnyMechanism
    why: str


def choose(name: str, task: Task, *, agreement: Agreement, must_answer: bool, settings: dict[str, Any]) -> Choice:
    """Return the named mechanism, or for "auto" the one expected to release most. Votes are never read.

    Parameters
    ----------
    name
        A registered name, or "auto".
    agreement
        What the user expects of the votes, declared in advance.
    must_answer
        Whether "auto" may only take mechanisms that never abstain.
    settings
        The settings that the user fixed; the others are calibrated.
    """
    given = {k: v for k, v in settings.items() if v is not None}
    if name != "auto":
        if must_answer:
            raise InvalidParameter(
                f"must_answer steers auto only, and the mechanism is {name}; give one of the two."
            )
        return _with_limit(name, task, agreement, given)
    unused = sorted(set(given) - {"max_abstentions"})
    if unused:
        raise InvalidParameter(
            f"auto chooses its own settings and was given {', '.join(unused)}; name a mechanism to fix them."
        )
    if task.budget.delta == 0:
        return Choice(make("permute-and-flip", task), "with delta 0 every answer must be pure by itself")
    return _answering_all(task, agreement, given) if must_answer else _may_abstain(task, agreement, given)


def _may_abstain(task: Task, agreement: Agreement, given: dict[str, Any]) -> Choice:
    """Answer everything if that is reliable enough; otherwise take the better of ladder and threshold-ladder."""
    if "max_abstentions" not in given and _noisy_max_agrees(task, agreement):
        return _answering_all(task, agreement, given)
    names = ["ladder"]
    if given.get("max_abstentions", 1) <= MOST_THRESHOLD_ABSTENTIONS:
        names.append("threshold-ladder")
    choices, refusals = [], []
    for name in names:
        try:
            choices.append(_with_limit(name, task, agreement, given))
        except MaplError as refusal:
            refusals.append(f"{name}: {refusal}")
    if not choices:
        raise CannotCalibrate("No mechanism fits. " + " ".join(refusals))
    return max(choices, key=lambda c: expect(c.mechanism, task, agreement).answered)


def _answering_all(task: Task, agreement: Agreement, given: dict[str, Any]) -> Choice:
    """Take whichever mechanism is expected to publish the winner most often while answering every question."""
    simplest = "link" if task.n_classes <= 3 else "noisy-max"
    choices = [Choice(make(simplest, task), "")] if "max_abstentions" not in given else []
    if not choices or _few_abstentions(task, agreement):
        fallback = "ladder-then-link" if task.n_classes == 2 else "ladder-then-max"
        try:
            choices.append(_with_limit(fallback, task, agreement, given))
        except CannotCalibrate:
            if not choices:
                raise
    best = max(choices, key=lambda c: expect(c.mechanism, task, agreement).winners)
    expected = expect(best.mechanism, task, agreement)
    return Choice(
        best.mechanism,
        f"it is expected to answer {expected.answered:.0f} of {task.n_queries} questions, {expected.agreement:.1%} "
        f"with the winner, if the winner's share of the votes is {agreement}",
    )


def _few_abstentions(task: Task, agreement: Agreement) -> bool:
    """Say whether a ladder would abstain on so few questions that answering those separately can pay."""
    limit = max(1, task.n_queries // 10)
    try:
        ladder = make("ladder", task, max_abstentions=min(limit, MOST_ABSTENTIONS))
    except CannotCalibrate:
        return False
    expected = expect(ladder, task, agreement)
    return expected.answered + expected.abstained >= 0.95 * task.n_queries


def _noisy_max_agrees(task: Task, agreement: Agreement) -> bool:
    """Say whether answering everything would be reliable, by the limiting price of a noisy argmax."""
    budget = task.budget

    def affordable(sigma: float) -> bool:
        return (Loss.zcdp(ARGMAX_CONSTANT / sigma**2) * task.n_queries).epsilon(budget.delta) <= budget.epsilon

    sigma = smallest_real(affordable, 0.5, 8.0, rounds=12)
    if sigma > task.n_teachers:
        return False
    noisy = NoisyMax(sigma, task.n_queries, task.n_classes, budget.delta, budget.epsilon)
    return expect(noisy, task, agreement).agreement >= ENOUGH_AGREEMENT


def _with_limit(name: str, task: Task, agreement: Agreement, given: dict[str, Any]) -> Choice:
    """Calibrate a mechanism; a limit on abstentions that was left open is set by forecast."""
    found = entry(name)
    if "max_abstentions" not in found.settings or "max_abstentions" in given:
        return Choice(make(name, task, **given), "as asked")
    if found.kind == "paper":
        limit = min(PAPER_ABSTENTIONS, task.n_queries)
        return Choice(
            make(name, task, max_abstentions=limit, **given), f"as asked, max_abstentions {limit} by default"
        )
    candidates: list[tuple[float, int, AnyMechanism]] = []
    last = ""
    most = MOST_THRESHOLD_ABSTENTIONS if name == "threshold-ladder" else MOST_ABSTENTIONS
    # Pricing a noisy max of three or more classes, or a long table, takes a second, so fewer limits are tried.
    slow = (name == "ladder-then-max" and task.n_classes > 2) or task.n_teachers > MANY_TEACHERS
    tried = 4 if slow else 14
    for limit in _limits(task.n_queries, most, tried):
        try:
            mechanism = make(name, task, max_abstentions=limit, **given)
        except CannotCalibrate as refusal:
            last = str(refusal)
            continue
        if candidates and mechanism.chance_if_unanimous(task.n_teachers, task.n_classes) < USEFUL:
            break  # larger limits only need larger distances
        candidates.append((expect(mechanism, task, agreement).winners, limit, mechanism))
    if not candidates:
        raise CannotCalibrate(last)
    _, limit, mechanism = max(candidates, key=lambda c: c[0])
    expected = expect(mechanism, task, agreement)
    return Choice(
        mechanism,
        f"max_abstentions {limit} is expected to answer {expected.answered:.0f} of {task.n_queries} questions "
        f"if the winner's share of the votes is {agreement}",
    )


def _limits(n_queries: int, most: int, tried: int) -> list[int]:
    return sorted({round(t) for t in np.geomspace(1, min(n_queries, most), tried)})


def expect(mechanism: AnyMechanism, task: Task, agreement: Agreement) -> Forecast:
    """Forecast a run on the declared agreement, for mechanisms that answer all or halt at an abstention."""
    block = agreement.tallies(task.n_teachers, task.n_classes)
    questions = _apportioned(agreement, task.n_queries)
    limit = getattr(mechanism, "max_abstentions", None)
    starts = mechanism.starts() if hasattr(mechanism, "starts") else [(1.0, State())]
    published = np.zeros((len(block), 1))
    for weight, state in starts:
        if weight < 1e-4:
            continue
        chances = mechanism.chances(block, state)
        abstaining = 1 - chances[:, : task.n_classes].sum(axis=1)
        taken = np.ones(len(block)) if limit is None else reached(questions, abstaining.clip(0, 1), limit)
        published = published + weight * chances * (questions * taken)[:, None]
    return forecast(published, block.values, task.n_classes)


def _apportioned(agreement: Agreement, n_queries: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    ends = np.round(np.cumsum(agreement.weights()) * n_queries).astype(np.int64)
    return np.diff(ends, prepend=0)
