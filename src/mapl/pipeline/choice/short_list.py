"""A declared short list of methods, of which a run chooses one privately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mapl.data.cells.partition import KINDS, PartitionKind
from mapl.errors import InvalidParameter
from mapl.misspelled_names import did_you_mean
from mapl.teachers.learners.presets import PRESETS

SELECT = "select:"
"""Begins the name of the method that tries several others."""

MOST = 8
"""Methods share the budget, so that more of them would leave little for each."""


@dataclass(frozen=True, slots=True)
class MethodCandidate:
    """Teachers, of a learner, cells, of a kind, or moments; None is what the run has anyway."""

    name: str
    method: Literal["teachers", "cells", "moments"]
    learner: str | None = None
    kind: PartitionKind | None = None


def candidates_of(method: str) -> tuple[MethodCandidate, ...]:
    """Read a short list.

    >>> [one.name for one in candidates_of("select:teachers/hgb,cells/leaves,moments")]
    ['teachers/hgb', 'cells/leaves', 'moments']
    """
    names = [name.strip() for name in method.removeprefix(SELECT).split(",")]
    if not 2 <= len(names) <= MOST or len(set(names)) < len(names):
        raise InvalidParameter(
            f"The method is {method!r}; name 2 to {MOST} different methods to select from, for example "
            f"{SELECT}moments,cells."
        )
    return tuple(_candidate(name) for name in names)


def _candidate(name: str) -> MethodCandidate:
    method, slash, variant = name.partition("/")
    kind = next((kind for kind in KINDS if kind == variant), None)
    if method == "teachers" and (not slash or variant in PRESETS):
        return MethodCandidate(name, "teachers", learner=variant or None)
    if method == "cells" and (not slash or kind is not None):
        return MethodCandidate(name, "cells", kind=kind)
    if name == "moments":
        return MethodCandidate(name, "moments")
    known = ["teachers", "cells", "moments"]
    known += [f"teachers/{one}" for one in PRESETS] + [f"cells/{one}" for one in KINDS]
    raise InvalidParameter(
        f"A method to select from is {name!r}; allowed are teachers, cells, moments, teachers/LEARNER with a name "
        f"of `mapl learners`, and cells/KIND with {', '.join(KINDS[:-1])} or {KINDS[-1]}."
        f"{did_you_mean(name, known)}"
    )
