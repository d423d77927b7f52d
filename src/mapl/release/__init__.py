"""The one loop from private votes to public labels, and the files on both sides of it."""

from mapl.data.classes import Classes
from mapl.release.chain import Answers, Entry
from mapl.release.error_estimate import ErrorEstimate, estimate_error, hard_questions
from mapl.release.labels_file import ReleaseFolder, read_truth
from mapl.release.ledger import Ledger, MemoryLedger, Progress
from mapl.release.limits import Limit, Limits
from mapl.release.loop import Released, admit, aggregate
from mapl.release.promise import TEACHER_PROMISE, Promise, promise_of
from mapl.release.statement import StageSpend, Statement, statement_of
from mapl.release.votes_file import Votes, read_counts, read_votes
from mapl.release.write_once import write_once

# SqliteLedger is imported from mapl.release.sqlite_ledger, so that a release in memory needs no database.
__all__ = [
    "TEACHER_PROMISE",
    "Answers",
    "Classes",
    "Entry",
    "ErrorEstimate",
    "Ledger",
    "Limit",
    "Limits",
    "MemoryLedger",
    "Progress",
    "Promise",
    "ReleaseFolder",
    "Released",
    "StageSpend",
    "Statement",
    "Votes",
    "admit",
    "aggregate",
    "estimate_error",
    "hard_questions",
    "promise_of",
    "read_counts",
    "read_truth",
    "read_votes",
    "statement_of",
    "write_once",
]
