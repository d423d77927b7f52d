"""Whether the ledger can be written: anybody may ask, and however many do, it is tried a few times a second."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mapl.service.answering.desk import Desk

FRESH = 0.25
"""Seconds that a successful try counts. A try waits for the disk, and answers wait for it."""


class Readiness:
    """Tries to write; whoever asks meanwhile waits for the same try."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tried_at = float("-inf")
        self._trying: asyncio.Task[None] | None = None

    async def checked(self) -> None:
        """Return if the ledger could be written just now; LedgerError if not."""
        if time.monotonic() - self._tried_at > FRESH:
            if self._trying is None:
                self._trying = asyncio.create_task(self._try())
            await asyncio.shield(self._trying)

    async def _try(self) -> None:
        try:
            begun = time.monotonic()
            await self._desk.consult(lambda ledger: ledger.alive())
            self._tried_at = begun
        finally:
            self._trying = None
