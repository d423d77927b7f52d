"""How far the ledger had come when an answer left: callers are witnesses, too, that it never goes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mapl.release.ledger.inquiries import OnlineLedger
from mapl.service.problem import ROLLED_BACK, Problem
from mapl.service.seen_entries import HEADER, numbers_in

if TYPE_CHECKING:
    from mapl.service.answering.desk import Desk

NAME_DIGITS = 16

BEHIND = (
    "You have seen later entries of its ledger than it has, so your questions might be answered twice. Nothing was "
    "answered and nothing was spent; tell whoever runs this server to put the newest ledger back."
)


class ProgressHeader:
    """Tells the number of the newest entry, and which ledger it is of, in a header of every answer.

    One entry is written for every group of requests with new questions and for every change of a key, whatever is
    answered: the number is the same for answers and abstentions. The name is the beginning of the first entry's
    hash, which was fixed when the ledger began. Neither tells anything about what others were answered.
    """

    def __init__(self, ledger: OnlineLedger) -> None:
        self._ledger = ledger
        self._name = ledger.records(-1, 1)[0].hash[:NAME_DIGITS]

    def now(self) -> dict[str, str]:
        """Return the header for what was read from the ledger just now."""
        mark = self._ledger.mark
        return {} if mark is None else {HEADER: f"{mark.number} {self._name}"}

    async def refuse_behind(self, told: str, desk: Desk) -> None:
        """Refuse a caller who has seen more than there is, before anything is drawn; it shuts nobody else out."""
        seen = numbers_in(told).get(self._name, 0)
        if seen > self._newest() and seen > ((await desk.consult(lambda ledger: ledger.look())).number or 0):
            raise Problem(ROLLED_BACK, BEHIND)

    def _newest(self) -> int:
        mark = self._ledger.mark
        return 0 if mark is None or mark.number is None else mark.number
