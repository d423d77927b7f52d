"""The newest head that the folder of a run knows of: from a ledger that has lost it, nothing is answered.

A ledger cannot know that it is an old copy of itself, put back under its old name, or that it is new because
somebody removed the other one or named another address. The folder can.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mapl.errors import LedgerError, LedgerTampered
from mapl.release.online import OnlineLedger

EVERY = 0.5
"""Seconds between two notes; what is noted is a head of the past anyway."""


@dataclass(slots=True)
class NotedHead:
    """One line in the private half of a run."""

    path: Path
    _noted_at: float = float("-inf")

    def check(self, ledger: OnlineLedger) -> None:
        """Refuse a ledger that does not contain the head which was noted last; without a note, take any."""
        try:
            seen = self.path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return
        except (OSError, ValueError):
            raise LedgerError(
                f"{self.path} cannot be read; repair it, since it tells which ledger is ours."
            ) from None
        if seen and all(record.hash != seen for record in ledger.entries()):
            raise LedgerTampered(
                "This run has answered from another ledger, or its ledger was removed or put back to an earlier "
                f"state: the head noted in {self.path} is not in it. Serve from the ledger that has it; if there "
                "is none any more, count the whole budget as spent."
            )

    def note(self, ledger: OnlineLedger) -> None:
        """Note the head, now and then; where the folder cannot be written, exported heads have to do."""
        now = time.monotonic()
        if now - self._noted_at >= EVERY:
            self._noted_at = now
            beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            with suppress(OSError, LedgerError):
                with open(os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as written:
                    written.write(f"{ledger.head}\n")
                beside.replace(self.path)
