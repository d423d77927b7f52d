"""A part of a ledger: several methods of one run share its record of spending, each with stages of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mapl.errors import PlanMismatch
from mapl.release.ledger.chain import Answers, Entry, Limit, Limits, Record
from mapl.release.ledger.ledger import Ledger, NeverCopied, Progress
from mapl.types import Secret


def stage_of(part: str, stage: str) -> str:
    """Return what the whole plan calls a stage of one of its parts."""
    return f"{part}: {stage}"


class LedgerPart(NeverCopied):
    """What one method sees of a ledger that was opened with the plan of the whole run.

    Stages are called here what the method calls them. Everything is recorded in the whole ledger, and counted
    there against the whole plan; this is a way of speaking and counts nothing itself.
    """

    def __init__(self, whole: Ledger, part: str) -> None:
        self._whole, self._part = whole, part

    def open(self, plan_digest: str, limits: Limits, *, fresh: bool = False) -> None:
        """Refuse a method whose own plan allows more than the whole plan does; that one is open already."""
        allowed = self._whole.entries()[0].told()["limits"]
        for stage, limit in limits.stages:
            name = stage_of(self._part, stage)
            if name not in allowed or not limit <= Limit(*allowed[name]):
                raise PlanMismatch(
                    f"The plan of the whole run does not cover stage {name!r}; nothing was released. Make the plan "
                    "of the run from those of its methods."
                )

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        entry = replace(entry, stage=stage_of(self._part, entry.stage))
        self._whole.append(entry, secret=secret, answers=answers)

    def progress(self, stage: str) -> Progress:
        return self._whole.progress(stage_of(self._part, stage))

    @property
    def head(self) -> str:
        return self._whole.head

    @property
    def run_id(self) -> str | None:
        return self._whole.run_id

    def entries(self) -> list[Record]:
        """Return the entries of this part's stages, under the names that they have here."""
        prefix = stage_of(self._part, "")
        mine = [record for record in self._whole.entries() if record.stage.startswith(prefix)]
        return [replace(record, stage=record.stage.removeprefix(prefix)) for record in mine]

    def verify(self, *, seen: str | None = None) -> None:
        self._whole.verify(seen=seen)

    def export(self) -> list[dict[str, Any]]:
        return self._whole.export()

    def __repr__(self) -> str:
        return f"LedgerPart({self._part!r} of {self._whole!r})"
