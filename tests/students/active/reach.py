"""What can be reached from an object by following references, as a curious selector could."""

from __future__ import annotations

import gc
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any


def reachable(start: Any) -> list[Any]:
    """Return everything that an object holds, directly or not; what all code shares (modules, classes) aside."""
    found: dict[int, Any] = {}
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if id(one) in found or isinstance(one, (ModuleType, type, BuiltinFunctionType)):
            continue
        found[id(one)] = one
        if isinstance(one, FunctionType):  # its globals are a module's
            waiting += [one.__closure__, one.__defaults__, one.__kwdefaults__]
        else:
            waiting += gc.get_referents(one)
    return list(found.values())
