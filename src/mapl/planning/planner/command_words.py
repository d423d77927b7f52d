"""How a command is written that carries a plan out: budgets round down, noise rounds up."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context
from typing import Any

MOST_CLASSES_NAMED = 4


def not_above(value: float, digits: int = 12) -> str:
    """Write a budget in a few digits, rounded down: what is left must never be exceeded.

    Examples
    --------
    >>> not_above(0.3), not_above(1e-6), not_above(0.19999999999999996), not_above(0.61237, 3)
    ('0.3', '1e-06', '0.199999999999', '0.612')
    """
    # By its shortest spelling, which is read back as the same float.
    rounded = Context(prec=digits, rounding=ROUND_DOWN).create_decimal(repr(float(value)))
    return f"{float(rounded):.{digits}g}"


def stand_in_classes(n: int) -> str:
    """Return names for the user to replace, as many as there are classes if they are few."""
    return ",".join("ABCD"[:n]) if n <= MOST_CLASSES_NAMED else f"NAMES-OF-{n}-CLASSES"


def wider(sigma: float) -> float:
    """Round noise up to four digits: a little more is paid for, a little less is not."""
    scale = 10.0 ** (math.floor(math.log10(sigma)) - 3)
    return math.ceil(sigma / scale) * scale


def spelled_command(verb: str, options: dict[str, Any]) -> str:
    return " ".join(
        [verb, *(f"--{name} {_written(value)}" for name, value in options.items() if value is not None)]
    )


def _written(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
