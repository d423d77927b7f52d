"""Looking after the ledger while nobody asks: what others wrote is witnessed, and what was put back is noticed."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from mapl.errors import LedgerError, LedgerRolledBack
from mapl.release.ledger.inquiries import OnlineLedger
from mapl.service.watching.witness import Witness

if TYPE_CHECKING:
    from mapl.service.answering.desk import Desk

EVERY = 1.0
"""Seconds between two looks; a look is one reading of one row, between two groups of questions."""

LOG = logging.getLogger("mapl.ledger")


class Vigil:
    """Looks at the ledger now and then, and once more at the end; notes of answers do not wait for it."""

    def __init__(self, desk: Desk, witness: Witness) -> None:
        self._desk, self._witness = desk, witness
        self._task: asyncio.Task[None] | None = None
        self._said = ""

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def end(self) -> None:
        """Take a last look before the desk closes, and wait until everything noted is on its disk."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            await self.look()

    async def look(self) -> None:
        """Look once; what is found goes to the log, once, and keeps nobody from looking again."""
        try:
            await self._desk.consult(self._seen)
            await asyncio.to_thread(self._witness.settle)
            self._said = ""
        except LedgerError as found:
            if str(found) != self._said:
                self._said = str(found)
                LOG.log(logging.ERROR if isinstance(found, LedgerRolledBack) else logging.WARNING, "%s", found)

    def _seen(self, ledger: OnlineLedger) -> None:
        ledger.look()
        self._witness.note(ledger)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self.look()
