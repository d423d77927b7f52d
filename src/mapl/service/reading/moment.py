"""A ledger as it was at one moment, however many answers are recorded while somebody reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mapl.release.ledger.chain import HALTED
from mapl.release.ledger.inquiries import OnlineLedger
from mapl.release.ledger.ledger import Progress
from mapl.types import State


@dataclass(frozen=True, slots=True, repr=False)
class LedgerMoment:
    """The public chain of a stage up to some entry, and what had been published by then.

    The chain is read first. Whatever is read later has the same beginning, since a ledger only grows; labels are
    cut to as many as the chain counts.
    """

    chain: list[dict[str, Any]]
    run_id: str | None
    _progress: Progress

    @classmethod
    def of(cls, ledger: OnlineLedger, stage: str) -> LedgerMoment:
        """Read a ledger; anybody may write to it meanwhile."""
        chain = ledger.export()
        last = next((one for one in reversed(chain) if one["stage"] == stage), None)
        progress = ledger.progress(stage)
        if last is not None:
            state = State(last["all_answered"], last["all_abstained"], last["kind"] == HALTED)
            n = state.answered + state.abstained
            fallback = None if progress.fallback is None else progress.fallback[:n]
            progress = replace(progress, state=state, labels=progress.labels[:n], fallback=fallback)
        return cls(chain, ledger.run_id, progress)

    @property
    def head(self) -> str:
        return str(self.chain[-1]["hash"])

    def progress(self, stage: str) -> Progress:
        return self._progress

    def export(self) -> list[dict[str, Any]]:
        return self.chain
