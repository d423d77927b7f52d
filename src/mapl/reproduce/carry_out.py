"""Carry out the claims of a paper, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.reproduce.claim import Absent, Evidence, PaperClaim, Ruling
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.papers import PAPERS, claims_of


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A claim with what was measured and the verdict; where nothing was measured, why."""

    group: str
    claim: PaperClaim
    measurement: Evidence
    ruling: Ruling
    absent: str = ""


def reproduce(
    paper: str, effort: ReproductionEffort, on_progress: Callable[[int], None] | None = None
) -> list[Reproduced]:
    """Measure every claim of a paper; the same effort gives the same numbers."""
    found: list[Reproduced] = []
    for group, claims in claims_of(paper).items():
        for claim in claims:
            found.append(_reproduce_one(group, claim, effort))
            if on_progress is not None:
                on_progress(len(found))
    return found


def reproduce_claim(paper: str, name: str, effort: ReproductionEffort) -> Reproduced:
    """Measure one claim; its figures are those that `reproduce` gives at the same effort.

    Raises
    ------
    InvalidParameter
        If the paper has no claim of this name.
    """
    known = {claim.name: (group, claim) for group, claims in claims_of(paper).items() for claim in claims}
    if name not in known:
        raise InvalidParameter(f"{paper} has no claim {name!r}; {spell('claim')} takes one of: {', '.join(known)}.")
    return _reproduce_one(*known[name], effort)


def _reproduce_one(group: str, claim: PaperClaim, effort: ReproductionEffort) -> Reproduced:
    try:
        measured = claim.measure(effort)
    except Absent as absent:
        return Reproduced(group, claim, Evidence({}), Ruling.skipped, str(absent))
    return Reproduced(group, claim, measured, claim.rule(measured.figures))


def as_values(paper: str, effort: ReproductionEffort, found: list[Reproduced]) -> dict[str, Any]:
    """Return everything as plain values for JSON."""
    return {
        "paper": paper,
        "title": PAPERS[paper].title,
        "authors": PAPERS[paper].authors,
        "quick": effort.quick,
        "claims": [
            {
                "name": one.claim.name,
                "group": one.group,
                "place": one.claim.place,
                "says": one.claim.says,
                "correction": one.claim.correction or None,
                "command": one.claim.command(paper, effort),
                "check": one.claim.check or None,
                "criterion": one.claim.criterion,
                "verdict": one.ruling.value,
                "skipped_because": one.absent or None,
                "figures": {name: _number(value) for name, value in one.measurement.figures.items()},
                "notes": list(one.measurement.notes),
                "lines": _lines(one.measurement),
            }
            for one in found
        ],
    }


def _lines(measured: Evidence) -> list[dict[str, Any]]:
    lines = () if measured.picture is None else measured.picture.lines
    return [{"name": line.name, "points": [[_number(x), _number(y)] for x, y in line.points]} for line in lines]


def _number(value: float) -> float | str:
    """Return ten digits, which is more than differs between machines; what JSON has no number for is written."""
    return float(f"{value:.10g}") if math.isfinite(value) else str(value)
