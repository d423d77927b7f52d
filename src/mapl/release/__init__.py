"""The one loop from private votes to public labels, and the files on both sides of it.

Names are imported when they are first used (`mapl.late_names`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapl.late_names import homes_of, import_late

if TYPE_CHECKING:
    from mapl.data.tables.classes import Classes as Classes
    from mapl.release.best_of import BestOf as BestOf
    from mapl.release.error_estimate import ErrorEstimate as ErrorEstimate
    from mapl.release.error_estimate import estimate_error as estimate_error
    from mapl.release.error_estimate import hard_questions as hard_questions
    from mapl.release.files.labels import ReleaseFolder as ReleaseFolder
    from mapl.release.files.labels import read_truth as read_truth
    from mapl.release.files.votes import Votes as Votes
    from mapl.release.files.votes import read_counts as read_counts
    from mapl.release.files.votes import read_votes as read_votes
    from mapl.release.files.write_once import write_once as write_once
    from mapl.release.ledger.chain import Answers as Answers
    from mapl.release.ledger.chain import Entry as Entry
    from mapl.release.ledger.ledger import Ledger as Ledger
    from mapl.release.ledger.ledger import Progress as Progress
    from mapl.release.ledger.limits import Limit as Limit
    from mapl.release.ledger.limits import Limits as Limits
    from mapl.release.ledger.memory import MemoryLedger as MemoryLedger
    from mapl.release.loop import Released as Released
    from mapl.release.loop import admit as admit
    from mapl.release.loop import aggregate as aggregate
    from mapl.release.private_selection import RandomRepetition as RandomRepetition
    from mapl.release.queries.leader import leader as leader
    from mapl.release.queries.oracle import Answered as Answered
    from mapl.release.queries.oracle import StableOracle as StableOracle
    from mapl.release.queries.oracle import answer as answer
    from mapl.release.queries.query import MostRight as MostRight
    from mapl.release.queries.query import Named as Named
    from mapl.release.queries.query import StableQuery as StableQuery
    from mapl.release.queries.query import TopCategory as TopCategory
    from mapl.release.queries.subsample import Aggregated as Aggregated
    from mapl.release.queries.subsample import each_of as each_of
    from mapl.release.statement.promise import TEACHER_PROMISE as TEACHER_PROMISE
    from mapl.release.statement.promise import Promise as Promise
    from mapl.release.statement.promise import promise_of as promise_of
    from mapl.release.statement.statement import StageSpend as StageSpend
    from mapl.release.statement.statement import Statement as Statement
    from mapl.release.statement.statement import statement_of as statement_of

# SqliteLedger is imported from mapl.release.ledger.sqlite, so that a release in memory needs no database.
_HOMES = homes_of(
    {
        "mapl.data.tables.classes": "Classes",
        "mapl.release.best_of": "BestOf",
        "mapl.release.error_estimate": "ErrorEstimate estimate_error hard_questions",
        "mapl.release.files.labels": "ReleaseFolder read_truth",
        "mapl.release.files.votes": "Votes read_counts read_votes",
        "mapl.release.files.write_once": "write_once",
        "mapl.release.ledger.chain": "Answers Entry",
        "mapl.release.ledger.ledger": "Ledger Progress",
        "mapl.release.ledger.limits": "Limit Limits",
        "mapl.release.ledger.memory": "MemoryLedger",
        "mapl.release.loop": "Released admit aggregate",
        "mapl.release.private_selection": "RandomRepetition",
        "mapl.release.queries.leader": "leader",
        "mapl.release.queries.oracle": "Answered StableOracle answer",
        "mapl.release.queries.query": "MostRight Named StableQuery TopCategory",
        "mapl.release.queries.subsample": "Aggregated each_of",
        "mapl.release.statement.promise": "TEACHER_PROMISE Promise promise_of",
        "mapl.release.statement.statement": "StageSpend Statement statement_of",
    }
)

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return import_late(__name__, _HOMES, name)
