"""Amounts that are numbers or a word: how many teachers, how much time, how much memory."""

from __future__ import annotations

from mapl.errors import InvalidParameter
from mapl.pipeline.learners import TIME_LIMIT as SECONDS

UNITS = {
    "KB": 10**3,
    "KiB": 2**10,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
LEAST_MEMORY = 64 * 2**20
TIME_LIMIT = f"{SECONDS:g}"
"""The default, as it is typed."""


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


def bytes_or_none(given: str | None) -> int | None:
    """Read an amount of memory, such as 4GB; None stands for the default."""
    if given is None:
        return None
    number, unit = next(((given.removesuffix(one), one) for one in UNITS if given.endswith(one)), (given, ""))
    try:
        amount = int(float(number) * UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        raise InvalidParameter(
            f"The memory is {given!r}; give a number and a unit, such as 500MB, 4GB or 16GiB."
        ) from None
    if amount < LEAST_MEMORY:
        raise InvalidParameter(f"The memory is {given}; at least 64MiB are needed to work in.")
    return amount
