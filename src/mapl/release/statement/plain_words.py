"""What a statement says in words that need no mathematics, and bounds in a few digits that promise no more."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from mapl.noise import Coins
from mapl.planning.plan import ROUNDING
from mapl.release.statement.promise import Promise

if TYPE_CHECKING:
    from mapl.release.statement.statement import StageSpend

NOT_PRIVATE = "NOT PRIVATE"
LABELS = "all labels, abstentions and noisy counts"
"""What most runs release."""


def at_most(value: float, digits: int = 4) -> str:
    """Write a promised bound in a few digits, rounded up: a smaller number would promise too much.

    Examples
    --------
    >>> at_most(1.10049), at_most(1.0), at_most(3.0042, 3)
    ('1.101', '1', '3.01')
    """
    if not math.isfinite(value):
        return str(value)
    # By its shortest spelling: the float nearest to 1e-5 is a little above it, and nobody means that.
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def noise_of(coins: Coins, guaranteed: float) -> str:
    """Say where the random numbers came from."""
    if not coins.private:
        return f"{NOT_PRIVATE}: seeded coins"
    if math.isinf(guaranteed):
        return f"{NOT_PRIVATE}: no noise"
    return "exact integers from the operating system's generator"


def not_private(coins: Coins) -> str:
    """Say that nothing is promised, and why."""
    why = "the plurality was released without noise" if coins.private else "the coins came from a known seed"
    return f"{NOT_PRIVATE}: {why}, so no privacy is promised. Use this result for tests only and do not publish it."


def why_not_private(words: str) -> str | None:
    """Return the sentence behind the mark of `not_private`, None for words that promise something."""
    if not words.startswith(NOT_PRIVATE):
        return None
    reason = words.removeprefix(NOT_PRIVATE).lstrip(": ")
    return reason[:1].upper() + reason[1:]


VOTE = (
    "The labels were decided by a vote of models (teachers), each trained on its own part of the private data, and "
    "by random coins."
)


def in_plain_words(
    how: str,
    promise: Promise,
    stages: tuple[StageSpend, ...],
    delta: float,
    guaranteed: float,
    epsilon: float,
    covers: str = LABELS,
) -> str:
    """Put a promise into words that need no mathematics; `how` says how the labels came about."""
    names = ", ".join(spend.name for spend in stages[:-1])
    before = f", together with what the run released before them ({names})" if names else ""
    return (
        f"{how} Whatever anybody concludes from what was released, they would have concluded with nearly the same "
        f"probability had {promise.words}: the probability of any outcome changes by a factor of at most "
        f"{at_most(math.exp(min(guaranteed, 700)) * (1 + ROUNDING), 3)} (e to the epsilon, epsilon "
        f"{at_most(guaranteed)}), plus at most delta, {delta:g}. This limit was fixed before anything was released "
        f"and holds for {covers} together{before}, against anybody with any knowledge and any computing power. It "
        f"protects {promise.unit}; the neighbouring data sets compared are those where {promise.adjacency}. Priced "
        f"by the outcomes that were actually published, the run has used epsilon {at_most(epsilon)} of it at the "
        "same delta. It does not hide what is true of the population as a whole, and it holds only under the "
        "assumptions listed beside it."
    )
