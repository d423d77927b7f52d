"""The plan of a run in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapl.mechanisms import entry
from mapl.report.figures import count
from mapl.service.budget import Spending

if TYPE_CHECKING:
    from mapl.pipeline.online import OnlineRun


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
