"""Functions as numba compiles them; without numba they are Python's, which computes the same, slowly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

IN_ANY_ORDER = {"reassoc", "contract", "nsz"}
"""Sums may be added in another order than they are written, always the same one: nothing else is given up."""


@cache
def can_compile() -> bool:
    """Say whether numba is there, and fits to what else is."""
    try:
        import numba  # noqa: F401
    except Exception:  # it refuses versions of numpy that it does not know in words of its own
        return False
    return True


def compile_lazily(function: Function) -> Function:
    """Have a function compiled when it is called first. What was compiled is kept beside the source, or where numba
    keeps such files; it depends on the kinds of the arguments and on nothing in them."""
    if not can_compile():
        return function
    from numba import njit

    try:
        made: Function = njit(cache=True, fastmath=IN_ANY_ORDER)(function)
    except RuntimeError:  # nowhere to keep it
        made = njit(fastmath=IN_ANY_ORDER)(function)
    return made
