"""Student files as a forger would change them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from mapl.data.tables.classes import Classes
from mapl.students import Student, train_student

Change = Callable[[dict[str, Any]], None]


def of_numbers(learner: Any, n_classes: int = 3) -> tuple[Student, Any]:
    draws = np.random.default_rng(0)
    rows = np.round(draws.normal(10, 3, size=(150, 4)) ** 2)
    labels = (rows[:, 0] // 40).astype(np.int32) % n_classes
    return train_student(rows, labels, classes=Classes(("7", "3", "10")), learner=learner), rows


def rewritten(
    content: bytes, *, plan: Change | None = None, about: Change | None = None, **members: bytes
) -> bytes:
    """Return a student file with changes that a forger would make."""
    out = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as before, ZipFile(out, "w", compression=ZIP_DEFLATED) as after:
        for name in before.namelist():
            data = members.get(name, before.read(name))
            change = {"schema.json": plan, "mapl.json": about}.get(name)
            if change is not None:
                parsed = json.loads(data)
                change(parsed)
                data = json.dumps(parsed).encode()
            after.writestr(name, data)
    return out.getvalue()


def node(name: str, loader: str, **parts: Any) -> dict[str, Any]:
    """Return a part of a skops file that builds a type in a certain way."""
    module, kind = name.rsplit(".", 1)
    return {"__class__": kind, "__module__": module, "__loader__": loader, **parts}


def nodes(plan: Any, kind: str) -> list[dict[str, Any]]:
    """Return every part of the plan that builds a class of this name."""
    if isinstance(plan, list):
        return [node for part in plan for node in nodes(part, kind)]
    if not isinstance(plan, dict):
        return []
    own = [plan] if plan.get("__class__") == kind and "__loader__" in plan else []
    return own + [node for part in plan.values() for node in nodes(part, kind)]
