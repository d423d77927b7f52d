"""Names of a package that are imported when they are first used, so that one does not bring all others along.

Somebody who wants one small part of a large package then waits for that part alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def homes_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return where each name is at home, from names by module, as they are read in a line.

    Examples
    --------
    >>> homes_of({"mapl.types": "Budget State"})
    {'Budget': 'mapl.types', 'State': 'mapl.types'}
    """
    return {name: module for module, listed in names.items() for name in listed.split()}


def import_late(package: str, homes: Mapping[str, str], name: str) -> Any:
    """Return what a package calls by a name, from the module where it is at home.

    Examples
    --------
    >>> import_late("mapl.example", {"Budget": "mapl.types"}, "Budget").__module__
    'mapl.types'
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)
