"""What every error becomes for a caller: a problem in fixed words; faults of the ledger are for the log only."""

from __future__ import annotations

from mapl.errors import InvalidData, LedgerRolledBack, MaplError
from mapl.service.access.guard import FAULTS
from mapl.service.answering.desk import Closed, Overloaded
from mapl.service.problem import INVALID, NO_LEDGER, OVERLOADED, ROLLED_BACK, Problem, again_later

SHUT = (
    "Its newest entries are missing, so a question might be answered twice. Nothing was answered and nothing was "
    "spent; it stays so until whoever runs this server has put the newest ledger back."
)

REFUSALS = (Problem, MaplError, Overloaded, Closed)
"""What a route may raise; whatever else is raised is a fault of the server."""


def problem_of(error: Exception) -> Problem:
    """Return the problem that an error of `REFUSALS` is told as."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, InvalidData):
        return Problem(INVALID, str(error))
    if isinstance(error, (Overloaded, Closed)):
        why = "stopping" if isinstance(error, Closed) else "too busy"
        return again_later(OVERLOADED, f"The server is {why}; send the request again later.")
    FAULTS.error("%s: %s", type(error).__name__, error)
    if isinstance(error, LedgerRolledBack):
        return Problem(ROLLED_BACK, SHUT)
    return again_later(
        NO_LEDGER, "The ledger cannot be written just now; what was not recorded was not answered. Try again later."
    )
