"""The newest report, one reading at a time: however many ask for it, others are not kept from their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class LatestReport:
    """Whoever asks while a report is made waits for the next one, and all who wait share it."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._page, self._begun = b"", float("-inf")

    async def made(self, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return a report that was begun after this call, made for it or for another one."""
        came = time.monotonic()
        async with self._turn:
            if self._begun < came:
                begun = time.monotonic()
                self._page = await make()
                self._begun = begun
            return self._page
