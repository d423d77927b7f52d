"""Mechanisms are calibrated once for the same public facts, and whoever has one can change nothing about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from mapl.mechanisms import Task, make
from mapl.mechanisms.registry import REGISTRY
from mapl.types import Budget

TASK = Task(Budget(1.0, 1e-6), n_teachers=100, n_classes=2, n_queries=20)


def limited(name: str) -> dict[str, int]:
    return {"max_abstentions": 3} if "max_abstentions" in REGISTRY[name].settings else {}


def tables(part: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(part, np.ndarray):
        yield part
    elif is_dataclass(part):
        for one in fields(part):
            yield from tables(getattr(part, one.name))


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "majority"])
def test_the_same_task_gets_the_same_mechanism_and_its_tables_are_read_only(name: str) -> None:
    task = replace(TASK, n_queries=1) if name == "stable-once" else TASK
    mechanism = make(name, task, **limited(name))
    assert make(name, replace(task), **limited(name)) is mechanism
    assert not any(table.flags.writeable for table in tables(mechanism))


def test_another_spelling_of_the_same_number_is_another_task() -> None:
    """What was asked before in this process must not show in how a figure is printed."""
    whole = replace(TASK, budget=Budget(1, 1e-6))
    assert whole == TASK
    assert make("gibbs-flip", whole) is not make("gibbs-flip", TASK)


def test_settings_that_differ_are_told_apart() -> None:
    few, more = (make("ladder", TASK, max_abstentions=n) for n in (3, 4))
    assert (few.parameters["max_abstentions"], more.parameters["max_abstentions"]) == (3, 4)
