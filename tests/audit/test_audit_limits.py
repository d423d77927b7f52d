"""Where a run ends is learned from `release`, not from what a mechanism says about itself."""

from __future__ import annotations

import pytest

from mapl.audit.votes.limits import RunEnds, limits_of
from mapl.audit.votes.twins import twin_of
from mapl.mechanisms import REGISTRY, Task, entry, make
from mapl.types import Budget

BUDGET = Budget(2.0, 1e-5)

EXPECTED = {
    "ladder": RunEnds(abstentions=3),
    "threshold-ladder": RunEnds(abstentions=3),
    "ladder-then-max": RunEnds(abstentions=3),
    "ladder-then-link": RunEnds(abstentions=3),
    "noisy-max": RunEnds(answers=12),
    "link": RunEnds(answers=12),
    "confident-max": RunEnds(questions=12),
    "stable-once": RunEnds(questions=1),
    "btt18": RunEnds(abstentions=4, questions=12),
    "lzcw21-sparse": RunEnds(abstentions=3, questions=12),
    "lzcw21-gaussian": RunEnds(answers=12),
    "stable-queries": RunEnds(abstentions=3),
    "exponential-vote": RunEnds(answers=12),
    "permute-and-flip": RunEnds(answers=12),
    "laplace-max": RunEnds(answers=12),
    "gibbs-flip": RunEnds(answers=12),
    "majority": RunEnds(),
}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_limits_are_those_paid_for(name: str) -> None:
    settings = {"max_abstentions": 3} if "max_abstentions" in entry(name).settings else {}
    mechanism = make(name, Task(BUDGET, 60, 2, 12), **settings)
    assert limits_of(mechanism, 60, 2, 12) == EXPECTED[name]


def test_two_limits_are_told_apart() -> None:
    mechanism = make("confident-max", Task(BUDGET, 60, 2, 12), max_answers=5)
    assert limits_of(mechanism, 60, 2, 12) == RunEnds(answers=5, questions=12)


def test_an_extra_abstention_and_a_refund_show() -> None:
    ladder = make("ladder", Task(BUDGET, 60, 2, 12), max_abstentions=3)
    assert limits_of(twin_of("extra-abstention", ladder).law, 60, 2, 12) == RunEnds(abstentions=4)
    assert limits_of(twin_of("refund", ladder).law, 60, 2, 12) == RunEnds()
