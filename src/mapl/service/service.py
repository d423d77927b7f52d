"""A service: one run, its ledger, and everything that a server needs besides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import orjson

from mapl.errors import InvalidData
from mapl.noise import Coins
from mapl.release.ledger.inquiries import OnlineLedger, Refused, Reply
from mapl.service.access.entrance import Entrance
from mapl.service.access.keys import derive_key
from mapl.service.answering.body_room import BodyRoom
from mapl.service.answering.budget import BudgetPrices
from mapl.service.answering.bulk import Bulk
from mapl.service.answering.clerk import Clerk, RowsAsked
from mapl.service.answering.desk import Desk
from mapl.service.answering.form import AnswerForm
from mapl.service.reading.latest_report import LatestReport
from mapl.service.reading.report_page import report_page
from mapl.service.settings import ServerSettings
from mapl.service.watching.alerts import BudgetAlerts
from mapl.service.watching.metrics import Traffic
from mapl.service.watching.progress_header import ProgressHeader
from mapl.service.watching.readiness import Readiness
from mapl.service.watching.spans import Spans
from mapl.service.watching.vigil import Vigil
from mapl.service.watching.witness import Witness

if TYPE_CHECKING:
    from mapl.pipeline.online.run import OnlineRun
    from mapl.students.student import Student

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Service:
    """What the routes work with; `open` puts it together.

    ``aside`` opens the ledger once more for long readings, so that answers need not wait for them; without it they
    take place at the desk.
    """

    run: OnlineRun
    coins: Coins
    settings: ServerSettings
    desk: Desk
    bulk: Bulk
    room: BodyRoom
    entrance: Entrance
    prices: BudgetPrices
    latest_report: LatestReport
    traffic: Traffic
    readiness: Readiness
    vigil: Vigil
    alerts: BudgetAlerts
    form: AnswerForm
    progress: ProgressHeader
    plan: bytes
    body_secret: bytes
    student: Student | None
    aside: Callable[[], OnlineLedger] | None
    spans: Spans | None

    @classmethod
    def open(
        cls,
        run: OnlineRun,
        ledger: OnlineLedger,
        coins: Coins,
        *,
        settings: ServerSettings | None = None,
        student: Student | None = None,
        aside: Callable[[], OnlineLedger] | None = None,
        witness: Witness | None = None,
        shared: Path | None = None,
        spans: Spans | None = None,
    ) -> Service:
        """Begin the run's only stage, or go on with it, and get ready to answer.

        Parameters
        ----------
        student
            A published student for free predictions.
        witness
            Who remembers the newest head; a ledger that has lost it is refused.
        shared
            A folder that all workers of a server share, for what has to end in all of them at once.
        spans
            Who is told of every request, beside the metrics.
        """
        watched = Witness() if witness is None else witness
        watched.check(ledger)
        run.begin(ledger, coins)
        ledger.look()
        watched.note(ledger)
        chosen = ServerSettings() if settings is None else settings
        clerk = Clerk(run, ledger, coins, watched)
        desk = Desk(clerk, most_waiting=chosen.most_waiting, most_in_group=chosen.most_in_group)
        prices = BudgetPrices(run)
        return cls(
            run=run,
            coins=coins,
            settings=chosen,
            desk=desk,
            bulk=Bulk.of(desk, clerk, chosen.most_in_slice),
            room=BodyRoom(chosen.most_held_bytes),
            entrance=Entrance(desk, run.service_key, chosen, shared),
            prices=prices,
            latest_report=LatestReport(),
            traffic=Traffic(),
            readiness=Readiness(desk),
            vigil=Vigil(desk, watched),
            alerts=BudgetAlerts(desk, prices, chosen, shared),
            form=AnswerForm(run.classes.names),
            progress=ProgressHeader(ledger),
            plan=_public_plan(run),
            body_secret=derive_key(run.service_key, "bodies"),
            student=student,
            aside=aside,
            spans=spans,
        )

    async def answer(self, asked: RowsAsked) -> Reply | Refused | InvalidData:
        """Have a request answered: with others in one group, or slice by slice if it is large."""
        size = len(asked.rows)
        with self.desk.room(asked.caller, size):
            if size > self.settings.most_in_slice:
                return await self.bulk.answer(asked)
            told: Reply | Refused | InvalidData = await self.desk.ask(asked)
            return told

    async def report(self) -> bytes:
        """Return the report of all answers so far as one page."""
        return await self.latest_report.made(
            lambda: self.read(lambda ledger: report_page(self.run, ledger, self.coins))
        )

    async def verify(self, seen: str | None = None) -> None:
        """Check the whole chain, and that a head `seen` earlier is part of it; LedgerTampered if not."""
        await self.read(lambda ledger: ledger.verify(seen=seen))

    async def read(self, work: Callable[[OnlineLedger], T]) -> T:
        """Do a long reading of the ledger beside the desk, where that is possible."""
        if self.aside is None:
            return await self.desk.consult(work)
        return await asyncio.to_thread(_read_aside, self.aside, work)

    def __repr__(self) -> str:
        return "Service(...)"


def _read_aside(aside: Callable[[], OnlineLedger], work: Callable[[OnlineLedger], T]) -> T:
    ledger = aside()
    try:
        return work(ledger)
    finally:
        ledger.close()


def _public_plan(run: OnlineRun) -> bytes:
    """Return the plan and the schema as they stand in the public half of the run."""
    return orjson.dumps(
        {
            "plan": orjson.loads(run.plan.to_json()),
            "digest": run.plan.digest,
            "schema": orjson.loads(run.schema.to_json()),
        }
    )
