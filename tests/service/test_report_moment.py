"""The report of one moment, while answers go on being recorded."""

from __future__ import annotations

import asyncio
from typing import Any

from stand_in import StandInRun, questions

from mapl.noise import SeededCoins
from mapl.release.ledger.memory import MemoryLedger
from mapl.service.answering.clerk import Clerk, RowsAsked
from mapl.service.reading.latest_report import LatestReport
from mapl.service.reading.report_page import report_page


class NeverStill(MemoryLedger):
    """A ledger that has one answer more after every look at it."""

    clerk: Clerk | None = None
    looked = 0

    def progress(self, stage: str) -> Any:
        seen = super().progress(stage)
        self._answer_one()
        return seen

    def export(self) -> Any:
        seen = super().export()
        self._answer_one()
        return seen

    def _answer_one(self) -> None:
        if self.clerk is not None:
            self.looked += 1
            self.clerk.answer([RowsAsked("ann", None, bytes([self.looked] * 32), questions(1, start=self.looked))])


def test_a_report_is_of_one_moment_whatever_is_answered_meanwhile() -> None:
    """Statement, labels and chain were read one after the other, and refused as contradicting each other (422)."""
    run, ledger, coins = StandInRun(), NeverStill(), SeededCoins(3)
    run.begin(ledger, coins)
    ledger.clerk = Clerk(run, ledger, coins)
    for _ in range(5):
        assert report_page(run, ledger, coins).startswith(b"<!DOCTYPE html>")
    assert ledger.looked >= 10


def test_many_who_ask_at_once_share_a_report_that_is_no_older_than_their_call() -> None:
    """Every one of them had a reading of the whole ledger of its own, and took the threads of all others."""

    async def ask() -> tuple[list[bytes], int]:
        latest, go, begun = LatestReport(), asyncio.Event(), 0

        async def make() -> bytes:
            nonlocal begun
            begun += 1
            mine = begun
            await go.wait()
            return b"%d" % mine

        first = asyncio.create_task(latest.made(make))
        await asyncio.sleep(0)
        others = [asyncio.create_task(latest.made(make)) for _ in range(100)]
        await asyncio.sleep(0)
        go.set()
        pages = await asyncio.gather(first, *others)
        return [*pages, await latest.made(make)], begun

    pages, begun = asyncio.run(ask())
    assert pages == [b"1", *[b"2"] * 100, b"3"]
    assert begun == 3
