"""Amounts that are numbers or a word: how many teachers, how much time."""

from __future__ import annotations

from mapl.errors import InvalidParameter

TIME_LIMIT = "600"
"""A learner that hangs must not hang the run for ever; by the clock a teacher may take thrice as long."""


def number_or_auto(given: str, of_what: str) -> int | None:
    """Read a whole number; None stands for auto."""
    if given == "auto":
        return None
    if not given.isdecimal():
        raise InvalidParameter(f"The number of {of_what} is {given!r}; give a whole number, or auto.")
    return int(given)


def seconds_or_none(given: str) -> float | None:
    """Read a time limit in seconds; None stands for no limit."""
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError:
        raise InvalidParameter(
            f"The time limit is {given!r}; give seconds, such as {TIME_LIMIT}, or none for no limit."
        ) from None
