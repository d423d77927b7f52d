"""The one loop from private votes to public labels, and the files on both sides of it."""

from mapl.data.tables.classes import Classes
from mapl.release.best_of import BestOf
from mapl.release.error_estimate import ErrorEstimate, estimate_error, hard_questions
from mapl.release.files.labels import ReleaseFolder, read_truth
from mapl.release.files.votes import Votes, read_counts, read_votes
from mapl.release.files.write_once import write_once
from mapl.release.ledger.chain import Answers, Entry
from mapl.release.ledger.ledger import Ledger, Progress
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.loop import Released, admit, aggregate
from mapl.release.private_selection import RandomRepetition
from mapl.release.queries.leader import leader
from mapl.release.queries.oracle import Answered, StableOracle, answer
from mapl.release.queries.query import MostRight, Named, StableQuery, TopCategory
from mapl.release.queries.subsample import Aggregated, each_of
from mapl.release.statement.promise import TEACHER_PROMISE, Promise, promise_of
from mapl.release.statement.statement import StageSpend, Statement, statement_of

# SqliteLedger is imported from mapl.release.ledger.sqlite, so that a release in memory needs no database.
__all__ = [
    "TEACHER_PROMISE",
    "Aggregated",
    "Answered",
    "Answers",
    "BestOf",
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
    "RandomRepetition",
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
