"""A service: one run, its ledger, and everything that a server needs besides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import orjson

from mapl.noise import Coins
from mapl.release.online import OnlineLedger
from mapl.service.answer_form import AnswerForm
from mapl.service.budget import Prices
from mapl.service.clerk import Clerk
from mapl.service.desk import Desk
from mapl.service.entrance import Entrance
from mapl.service.keys import derived
from mapl.service.metrics import Traffic
from mapl.service.noted_head import NotedHead
from mapl.service.readiness import Readiness
from mapl.service.report_page import report_page
from mapl.service.settings import Settings

if TYPE_CHECKING:
    from mapl.pipeline.online import OnlineRun
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
    settings: Settings
    desk: Desk
    entrance: Entrance
    prices: Prices
    traffic: Traffic
    readiness: Readiness
    form: AnswerForm
    plan: bytes
    body_secret: bytes
    student: Student | None
    aside: Callable[[], OnlineLedger] | None

    @classmethod
    def open(
        cls,
        run: OnlineRun,
        ledger: OnlineLedger,
        coins: Coins,
        *,
        settings: Settings | None = None,
        student: Student | None = None,
        aside: Callable[[], OnlineLedger] | None = None,
        noted: NotedHead | None = None,
    ) -> Service:
        """Begin the run's only stage, or go on with it, and get ready to answer.

        Parameters
        ----------
        student
            A published student for free predictions.
        noted
            Where the newest head is noted; a ledger that has lost it is refused.
        """
        if noted is not None:
            noted.check(ledger)
        run.begin(ledger, coins)
        if noted is not None:
            noted.note(ledger)
        chosen = Settings() if settings is None else settings
        desk = Desk(
            Clerk(run, ledger, coins, noted), most_waiting=chosen.most_waiting, most_in_group=chosen.most_in_group
        )
        return cls(
            run=run,
            coins=coins,
            settings=chosen,
            desk=desk,
            entrance=Entrance(desk, run.service_key, chosen),
            prices=Prices(run),
            traffic=Traffic(),
            readiness=Readiness(desk),
            form=AnswerForm(run.classes.names),
            plan=_public_plan(run),
            body_secret=derived(run.service_key, "bodies"),
            student=student,
            aside=aside,
        )

    async def report(self) -> bytes:
        """Return the report of all answers so far as one page."""
        return await self.read(lambda ledger: report_page(self.run, ledger, self.coins))

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
