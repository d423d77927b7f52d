"""Telling somebody before the budget is used up: a line in the log, and a call to an address that was given.

What is told is public: counters and limits, as `GET /v1/budget` has them.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from mapl.errors import MaplError
from mapl.service.answering.clerk import STAGE
from mapl.service.watching.log_lines import FIELDS

if TYPE_CHECKING:
    from mapl.service.answering.budget import BudgetPrices, Spending
    from mapl.service.answering.desk import Desk
    from mapl.service.settings import ServerSettings

EVERY = 5.0
"""Seconds between two looks."""

PATIENCE = 10.0
LOG = logging.getLogger("mapl.budget")


def share_left(spending: Spending) -> float:
    """Return how much of the scarcer of questions and abstentions is left."""
    if spending.ended:
        return 0.0
    shares = [spending.questions_left / spending.most_questions]
    if spending.most_abstained:
        shares.append(1 - spending.abstained / spending.most_abstained)
    return min(shares)


class BudgetAlerts:
    """Looks at the counters now and then; of several workers, one tells.

    Parameters
    ----------
    shared
        The folder that the workers of a server share: whoever makes the file of an alert first, tells.
    """

    def __init__(
        self, desk: Desk, prices: BudgetPrices, settings: ServerSettings, shared: Path | None = None
    ) -> None:
        self._desk, self._prices, self._shared = desk, prices, shared
        self._url = settings.alert_url
        self._ahead = sorted(settings.alert_at, reverse=True)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._ahead:
            self._task = asyncio.create_task(self._watch())

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        """Tell of the lowest share that the budget has fallen to or below since the last look."""
        state = await self._desk.consult(lambda ledger: ledger.spending(STAGE))
        spending = self._prices.spending(state)
        left = share_left(spending)
        reached = [share for share in self._ahead if left <= share]
        if not reached:
            return
        self._ahead = [share for share in self._ahead if share not in reached]
        if self._first(reached[-1]):
            await self._tell(reached[-1], left, spending)

    def _first(self, share: float) -> bool:
        if self._shared is None:
            return True
        try:
            (self._shared / f"alert-{share:g}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    async def _tell(self, share: float, left: float, spending: Spending) -> None:
        told = {
            "alert": "budget-low",
            "at": share,
            "left": round(left, 6),
            "answered": spending.answered,
            "abstained": spending.abstained,
            "questions_left": spending.questions_left,
            "most_abstained": spending.most_abstained,
        }
        LOG.warning("%.3g of the budget is left.", left, extra={FIELDS: told})
        if self._url is None:
            return
        try:
            async with httpx.AsyncClient(timeout=PATIENCE) as client:
                (await client.post(self._url, json=told)).raise_for_status()
        except httpx.HTTPError as failure:  # whose words hold the address, which may hold a secret
            LOG.error("The alert could not be delivered (%s).", type(failure).__name__)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            with suppress(MaplError):  # what is wrong with the ledger is told elsewhere
                await self.look()
