"""What exact adversaries find out about a mechanism, next to a broken twin of it, as figures of a claim."""

from __future__ import annotations

from typing import Any

from mapl.audit.examine import audit
from mapl.audit.votes.twins import twin_of
from mapl.mechanisms import Task, make
from mapl.reproduce.claim import Demand, Evidence
from mapl.types import Budget

FOUND = "delta that no adversary exceeds, over the claimed delta"
EXCEEDED = "parts of its claim that an adversary exceeds"
OF_TWIN = "parts of it that an adversary exceeds of the broken twin"
PRICE = "epsilon that the run costs at most, over the claimed epsilon"
WITHIN = (
    Demand(PRICE, most=1.0),
    Demand(FOUND, most=1 + 1e-6),
    Demand(EXCEEDED, most=0),
    Demand(OF_TWIN, least=1),
)
"""The mechanism keeps its promise, and the same adversary can tell that a broken one does not."""


def audit_mechanism(
    name: str, twin: str, budget: Budget, *, n_teachers: int, questions: int, **settings: Any
) -> Evidence:
    """Audit a mechanism at a budget, and a broken twin of it."""
    mechanism = make(name, Task(budget, n_teachers, 2, questions), **settings)
    found = audit(mechanism, budget, n_teachers=n_teachers, n_classes=2, questions=questions)
    broken = twin_of(twin, mechanism)
    missed = audit(broken.claims, budget, n_teachers=n_teachers, n_classes=2, questions=questions, law=broken.law)
    upper = found.found_delta_upper
    return Evidence(
        {
            PRICE: found.epsilon / budget.epsilon,
            FOUND: (1.0 if upper is None else upper) / budget.delta,
            EXCEEDED: len(found.details["exceeded"]),
            OF_TWIN: len(missed.details["exceeded"]),
            "teachers": n_teachers,
            "questions": questions,
        },
        notes=(
            f"Budget: epsilon {budget.epsilon:g} at delta {budget.delta:g}. Adversaries know everything but the "
            f"coins and choose questions as they go; they are played against the price that mapl proves, epsilon "
            f"{found.epsilon:.3g}. The twin: {twin}.",
        ),
    )
