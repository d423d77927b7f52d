"""The one loop from private votes to public labels, and the files on both sides of it."""

from mapl.data.classes import Classes
from mapl.release.chain import Answers, Entry
from mapl.release.error_estimate import ErrorEstimate, estimate_error, hard_questions
from mapl.release.labels_file import ReleaseFolder, read_truth
from mapl.release.leader import leader
from mapl.release.ledger import Ledger, Progress
from mapl.release.limits import Limit, Limits
from mapl.release.loop import Released, admit, aggregate
from mapl.release.memory_ledger import MemoryLedger
from mapl.release.promise import TEACHER_PROMISE, Promise, promise_of
from mapl.release.stable_oracle import Answered, StableOracle, answer
from mapl.release.stable_query import MostRight, Named, StableQuery, TopCategory
from mapl.release.statement import StageSpend, Statement, statement_of
from mapl.release.subsample import Aggregated, each_of
from mapl.release.votes_file import Votes, read_counts, read_votes
from mapl.release.write_once import write_once

# SqliteLedger is imported from mapl.release.sqlite_ledger, so that a release in memory needs no database.
__all__ = [
    "TEACHER_PROMISE",
    "Aggregated",
    "Answered",
    "Answers",
    "Classes",
    "Entry",
    "ErrorEstimate",
    "Ledger",
    "Limit",
    "Limits",
    "MemoryLedger",
    "MostRight",
    "Named",
    "Progress",
    "Promise",
    "ReleaseFolder",
    "Released",
    "StableOracle",
    "StableQuery",
    "StageSpend",
    "Statement",
    "TopCategory",
    "Votes",
    "admit",
    "aggregate",
    "answer",
    "each_of",
    "estimate_error",
    "hard_questions",
    "leader",
    "promise_of",
    "read_counts",
    "read_truth",
    "read_votes",
    "statement_of",
    "write_once",
]
