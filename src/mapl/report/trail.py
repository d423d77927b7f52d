"""What lets a reader check a run: the plan's digest and the ledger's chain, checked here as well."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mapl.errors import InvalidData
from mapl.planning.plan import Plan
from mapl.release.error_estimate import ErrorEstimate
from mapl.release.ledger.chain import check_export
from mapl.release.statement.selected_statement import name_published_stages


@dataclass(frozen=True, slots=True)
class StageCount:
    """What the ledger counted for one stage, and how much of it was allowed."""

    name: str
    answered: int
    abstained: int
    most_answered: int
    most_abstained: int


@dataclass(frozen=True, slots=True)
class Trail:
    """Digests of the plan and of the ledger; the flags say which of them were computed anew for this report."""

    plan_digest: str | None
    plan_checked: bool
    ledger_head: str | None
    ledger_checked: bool
    ledger_entries: int
    counts: tuple[StageCount, ...]
    error_rate: float | None
    """The teachers' mean error rate, if the run released an estimate of it."""
    mapl_version: str

    @classmethod
    def of(
        cls,
        statement: Mapping[str, Any],
        plan: Mapping[str, Any] | None,
        ledger: Sequence[Mapping[str, Any]] | None,
    ) -> Self:
        """Compute the digests that can be computed, and refuse files of different runs."""
        digest, head = statement.get("plan_digest"), statement.get("ledger_head")
        if plan is not None and digest is not None and Plan.from_json(json.dumps(plan)).digest != digest:
            raise _other_run("plan")
        if ledger:
            found = check_export(ledger)
            if head not in (None, found) or digest not in (None, ledger[0]["payload"]["plan"]):
                raise _other_run("ledger")
            head = found
        return cls(
            plan_digest=None if digest is None else str(digest),
            plan_checked=plan is not None and digest is not None,
            ledger_head=None if head is None else str(head),
            ledger_checked=bool(ledger),
            ledger_entries=len(ledger or ()),
            counts=_counts(ledger or ()),
            error_rate=_error_rate(_published(statement, ledger or ())),
            mapl_version=str(statement.get("mapl_version", "not stated")),
        )


def _counts(ledger: Sequence[Mapping[str, Any]]) -> tuple[StageCount, ...]:
    """Take the newest entry of each stage, whose counters are running totals."""
    newest = {str(entry["stage"]): entry for entry in ledger if entry["stage"]}
    return tuple(
        StageCount(
            name,
            int(entry["all_answered"]),
            int(entry["all_abstained"]),
            int(entry["most_answered"]),
            int(entry["most_abstained"]),
        )
        for name, entry in newest.items()
    )


def _published(statement: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Leave out what was only tried, where one of several methods was chosen."""
    if statement.get("selected") is None:
        return ledger
    own = name_published_stages(statement)
    return [entry for entry in ledger if entry["stage"] in own]


def _error_rate(ledger: Sequence[Mapping[str, Any]]) -> float | None:
    """Read a released error estimate, a whole number of steps, as a rate."""
    told = [entry["payload"] for entry in ledger if entry["stage"]]
    most = [
        payload["parameters"]["grain"] * payload["parameters"]["teachers"]
        for payload in told
        if payload.get("mechanism") == ErrorEstimate.name
    ]
    released = [payload["released"] for payload in told if "released" in payload]
    return min(1.0, max(0.0, released[0] / most[0])) if most and released else None


def _other_run(what: str) -> InvalidData:
    return InvalidData(
        f"The {what} and the statement have different digests, so they belong to different runs; give the public "
        "files of one and the same run."
    )
