"""What a statement says about all runs on the same people, where a run went on from earlier ones."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.planning.budgets.several_runs import Promised


@dataclass(frozen=True, slots=True)
class TogetherStated:
    """The promise of all runs together: this one and those before it, each with the whole budget of its plan.

    ``allowed_epsilon`` and ``allowed_delta`` are what had been allowed for all of them; adjacency and unit are
    those of every one of the runs.
    """

    epsilon: float
    delta: float
    allowed_epsilon: float
    allowed_delta: float
    adjacency: str
    unit: str
    earlier_runs: tuple[Promised, ...]
