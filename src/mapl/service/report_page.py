"""The report of a run that still answers: the same page as of a finished one, about all answers so far."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mapl.errors import InvalidData
from mapl.noise import Coins
from mapl.release.labels_file import labels_table
from mapl.release.loop import Released
from mapl.release.online import OnlineLedger
from mapl.service.clerk import STAGE

if TYPE_CHECKING:
    from mapl.pipeline.online import OnlineRun

ATTEMPTS = 5


def report_page(run: OnlineRun, ledger: OnlineLedger, coins: Coins) -> bytes:
    """Return the report as HTML; all of it is public."""
    from mapl.report import Report, render

    for attempt in range(ATTEMPTS):
        progress, statement, chain = ledger.progress(STAGE), run.statement(ledger, coins), ledger.export()
        released = Released(progress.labels, progress.fallback, progress.state, len(progress.labels))
        try:
            report = Report.of(
                json.loads(statement.to_json()),
                plan=json.loads(run.plan.to_json()),
                labels=labels_table(statement, released, run.classes),
                classes=run.classes,
                ledger=chain,
            )
        except InvalidData:
            if attempt == ATTEMPTS - 1:
                raise
            continue  # another process has answered something between two looks at the ledger
        return render(report).encode()
    raise AssertionError("unreachable")
