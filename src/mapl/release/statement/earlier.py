"""Adding to a run's statement what it promises together with the earlier runs that it went on from."""

from __future__ import annotations

from dataclasses import replace

from mapl.planning.plan import Plan
from mapl.release.statement.plain_words import at_most
from mapl.release.statement.statement import Statement, TogetherStated


def add_earlier_runs(statement: Statement, plan: Plan) -> Statement:
    """Return the statement with the total over all runs, by the plan; what promises nothing has none.

    Every run counts with the budget of its plan, as it will when a later run goes on from this one.
    """
    before = plan.together
    if before is None or not statement.private:
        return statement
    total = before.with_new(plan.budget)
    stated = TogetherStated(
        total.epsilon,
        total.delta,
        float(before.allowed.epsilon),
        float(before.allowed.delta),
        statement.adjacency,
        statement.unit,
        before.runs,
    )
    return replace(statement, together=stated, in_plain_words=f"{statement.in_plain_words} {in_words(stated)}")


def in_words(stated: TogetherStated) -> str:
    """Say what all runs promise together."""
    names = ", ".join(run.run for run in stated.earlier_runs)
    runs = f"the earlier run {names}" if len(stated.earlier_runs) == 1 else f"the earlier runs {names}"
    return (
        f"Together with {runs} on the same people the promise is epsilon {at_most(stated.epsilon)} (delta "
        f"{at_most(stated.delta)}; adjacency: {stated.adjacency}; unit: {stated.unit}), each run counting with its "
        "whole budget."
    )
