"""Choosing a mechanism and the settings that were left open, from public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mapl.errors import CannotCalibrate, InvalidParameter, MaplError
from mapl.mechanisms import AnyMechanism, Task, entry, make
from mapl.planning.choosing.candidates import exactly
from mapl.planning.choosing.expectation import Expected, count_asked, expect
from mapl.planning.choosing.limits import MOST_THRESHOLD_ABSTENTIONS, best_limit
from mapl.planning.choosing.options import Option, fallback_for, options

PAPER_ABSTENTIONS = 10


@dataclass(frozen=True, slots=True)
class Choice:
    """A calibrated mechanism and, in words, why it was taken."""

    mechanism: AnyMechanism
    why: str


def choose(name: str, task: Task, *, agreement: Expected, must_answer: bool, settings: dict[str, Any]) -> Choice:
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


def _may_abstain(task: Task, agreement: Expected, given: dict[str, Any]) -> Choice:
    """Take what is expected to answer most reliably; with a limit on abstentions, a ladder that keeps it."""
    if "max_abstentions" in given:
        return _limited(task, agreement, given)
    return _first_that_fits(options(task, agreement, must_answer=False), task, agreement)


def _limited(task: Task, agreement: Expected, given: dict[str, Any]) -> Choice:
    names = ["ladder"]
    if given["max_abstentions"] <= MOST_THRESHOLD_ABSTENTIONS:
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


def _answering_all(task: Task, agreement: Expected, given: dict[str, Any]) -> Choice:
    """Take whichever mechanism is expected to publish the winner most often while answering every question."""
    if "max_abstentions" in given:
        mechanism = _with_limit(fallback_for(task), task, agreement, given).mechanism
        return Choice(mechanism, _expected(mechanism, task, agreement))
    return _first_that_fits(options(task, agreement, must_answer=True), task, agreement)


def _first_that_fits(offered: list[Option], task: Task, agreement: Expected) -> Choice:
    """Price the options exactly, best first, until one stays within the budget."""
    refusals = []
    for option in offered:
        try:
            mechanism = exactly(option.mechanism, task)
        except MaplError as refusal:
            refusals.append(f"{option.name}: {refusal}")
            continue
        return Choice(mechanism, _expected(mechanism, task, agreement))
    raise CannotCalibrate("No mechanism fits. " + " ".join(refusals))


def _expected(mechanism: AnyMechanism, task: Task, agreement: Expected) -> str:
    expected, asked = expect(mechanism, task, agreement), count_asked(mechanism, task.n_queries)
    words = (
        f"it is expected to answer {expected.answered:.0f} of {task.n_queries} questions, {expected.agreement:.1%} "
        f"with the winner, if the winner's share of the votes is {agreement}"
    )
    if asked < task.n_queries:
        words += (
            f"; only the first {asked} questions are asked and the rest stay without an answer, because noise on "
            "more of them would make more labels wrong"
        )
    return words


def _with_limit(name: str, task: Task, agreement: Expected, given: dict[str, Any]) -> Choice:
    """Calibrate a mechanism; a limit on abstentions that was left open is set by forecast."""
    found = entry(name)
    if "max_abstentions" not in found.settings or "max_abstentions" in given:
        return Choice(make(name, task, **given), "as asked")
    if found.kind == "paper":
        limit = min(PAPER_ABSTENTIONS, task.n_queries)
        return Choice(
            make(name, task, max_abstentions=limit, **given), f"as asked, max_abstentions {limit} by default"
        )
    mechanism, limit = best_limit(name, task, agreement, given)
    expected = expect(mechanism, task, agreement)
    return Choice(
        mechanism,
        f"max_abstentions {limit} is expected to answer {expected.answered:.0f} of {task.n_queries} questions "
        f"if the winner's share of the votes is {agreement}",
    )
