"""A declared short list of methods, of which a run chooses one privately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mapl.data.cells import KINDS, Kind
from mapl.errors import InvalidParameter
from mapl.teachers.presets import PRESETS

SELECT = "select:"
"""Begins the name of the method that tries several others."""

MOST = 8
"""Methods share the budget, so that more of them would leave little for each."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Teachers, of a learner, or cells, of a kind; None is what the run has anyway."""

    name: str
    method: Literal["teachers", "cells"]
    learner: str | None = None
    kind: Kind | None = None


def candidates_of(method: str) -> tuple[Candidate, ...]:
    """Read a short list.

    >>> [one.name for one in candidates_of("select:teachers,teachers/hgb,cells/leaves")]
    ['teachers', 'teachers/hgb', 'cells/leaves']
    """
    names = [name.strip() for name in method.removeprefix(SELECT).split(",")]
    if not 2 <= len(names) <= MOST or len(set(names)) < len(names):
        raise InvalidParameter(
            f"The method is {method!r}; name 2 to {MOST} different methods to select from, for example "
            f"{SELECT}teachers,cells."
        )
    return tuple(_candidate(name) for name in names)


def _candidate(name: str) -> Candidate:
    method, slash, variant = name.partition("/")
    kind = next((kind for kind in KINDS if kind == variant), None)
    if method == "teachers" and (not slash or variant in PRESETS):
        return Candidate(name, "teachers", learner=variant or None)
    if method == "cells" and (not slash or kind is not None):
        return Candidate(name, "cells", kind=kind)
    raise InvalidParameter(
        f"A method to select from is {name!r}; allowed are teachers, cells, teachers/LEARNER with a name of `mapl "
        f"learners`, and cells/KIND with {', '.join(KINDS[:-1])} or {KINDS[-1]}."
    )
