"""The report of a run that still answers: the same page as of a finished one, about all answers so far."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mapl.noise import Coins
from mapl.release.files.labels import labels_table
from mapl.release.ledger.inquiries import OnlineLedger
from mapl.release.loop import Released
from mapl.service.answering.clerk import STAGE
from mapl.service.reading.moment import LedgerMoment

if TYPE_CHECKING:
    from mapl.pipeline.online.run import OnlineRun


def report_page(run: OnlineRun, ledger: OnlineLedger, coins: Coins) -> bytes:
    """Return the report as HTML; all of it is public, and of one moment."""
    from mapl.report import Report, render

    moment = LedgerMoment.of(ledger, STAGE)
    progress = moment.progress(STAGE)
    statement = run.statement(moment, coins)  # type: ignore[arg-type]  # head, run id and progress are all it reads
    released = Released(progress.labels, progress.fallback, progress.state, len(progress.labels))
    report = Report.of(
        json.loads(statement.to_json()),
        plan=json.loads(run.plan.to_json()),
        labels=labels_table(statement, released, run.classes),
        classes=run.classes,
        ledger=moment.export(),
    )
    return render(report).encode()
