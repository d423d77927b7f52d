"""What the page says in words: the plan, an outcome, the row that was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mapl.mechanisms import entry
from mapl.report.figures import count
from mapl.service.answering.budget import Spending
from mapl.service.page.rendering import render_part
from mapl.types import ABSTAIN

if TYPE_CHECKING:
    from mapl.pipeline.online.run import OnlineRun


def plan_in_words(run: OnlineRun, spending: Spending) -> list[str]:
    """Say who answers, how, until when, and what that promises; one sentence or two each."""
    budget, known = run.task.budget, entry(run.mechanism.name)
    abstains = spending.most_abstained > 0
    sentences = [
        f"{count(run.task.n_teachers)} teachers have each learned from their own part of the private table; "
        "nobody's records are in two parts.",
        "For every new question they vote, and what is released of the vote is decided with random numbers "
        f"({run.mechanism.name}: {known.summary}).",
        f"At most {count(spending.most_questions)} different questions are taken. A question that was asked before "
        "gets the same answer and costs nothing.",
    ]
    if abstains:
        sentences.append(
            f"Where the teachers disagree too much there is no answer; after {count(spending.most_abstained)} such "
            "abstentions nothing new is answered any more."
        )
    sentences.append(
        f"All answers together are differentially private: epsilon {budget.epsilon:g}, delta {budget.delta:g}, if "
        f"{run.promise.adjacency}. Protected is {run.promise.unit}."
    )
    return sentences


def outcome_of(code: int, classes: Sequence[str]) -> str:
    """Say what became of a question, in as many bytes whatever it was."""
    said = _outcomes(tuple(classes))
    return said[code] + " " * (max(len(one.encode()) for one in said.values()) - len(said[code].encode()))


@lru_cache(maxsize=8)
def _outcomes(classes: tuple[str, ...]) -> dict[int, str]:
    labels: dict[int, str | None] = {ABSTAIN: None, **dict(enumerate(classes))}
    return {code: render_part("outcome.html", label=label) for code, label in labels.items()}


def shown_row(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a row that was asked as names and texts; what is missing stays away."""
    return [
        (name, f"{cell:.15g}" if isinstance(cell, float) else str(cell))
        for name, cell in row.items()
        if cell is not None
    ]
