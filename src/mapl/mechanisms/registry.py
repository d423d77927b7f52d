"""The mechanisms by name. The meaning of a name never changes; new behaviour gets a new name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal

from mapl.errors import InvalidParameter
from mapl.mechanisms.ladder import Ladder
from mapl.mechanisms.mechanism import AnyMechanism, Task

Kind = Literal["release", "paper", "single", "none"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered mechanism: its class, the class counts it takes, what it is for."""

    mechanism: Any
    classes: tuple[int, ...] | None
    """Allowed numbers of classes, or None for any."""
    kind: Kind
    summary: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings that the mechanism's calibration takes."""
        signature = inspect.signature(self.mechanism.for_task)
        return tuple(p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY)


REGISTRY: dict[str, Entry] = {
    "ladder": Entry(Ladder, None, "release", "exact winner or abstention; pays only for abstentions"),
}


def entry(name: str) -> Entry:
    """Look a mechanism up by name."""
    if name not in REGISTRY:
        raise InvalidParameter(f"There is no mechanism {name!r}. Choose one of: {', '.join(REGISTRY)}, or auto.")
    return REGISTRY[name]


def make(name: str, task: Task, **settings: Any) -> AnyMechanism:
    """Calibrate a mechanism for a task; settings that are None are left to the mechanism."""
    found = entry(name)
    if found.classes is not None and task.n_classes not in found.classes:
        allowed = " or ".join(map(str, found.classes))
        raise InvalidParameter(
            f"{name} works for {allowed} classes and the votes have {task.n_classes}; "
            "use noisy-max (answers everything) or ladder (may abstain) instead."
        )
    given = {k: v for k, v in settings.items() if v is not None}
    unknown = sorted(set(given) - set(found.settings))
    if unknown:
        raise InvalidParameter(
            f"{name} has no setting {', '.join(unknown)}; it takes: {', '.join(found.settings) or 'none'}."
        )
    missing = [
        p.name
        for p in inspect.signature(found.mechanism.for_task).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in given
    ]
    if missing:
        raise InvalidParameter(f"{name} needs the setting {', '.join(missing)}.")
    mechanism: AnyMechanism = found.mechanism.for_task(task, **given)
    return mechanism
