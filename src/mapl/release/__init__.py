"""The one loop from private votes to public labels, and the files on both sides of it."""

from mapl.data.classes import Classes
from mapl.release.labels_file import ReleaseFolder, read_truth
from mapl.release.loop import Released, admit, aggregate
from mapl.release.statement import Statement, statement_of
from mapl.release.votes_file import Votes, read_counts, read_votes

__all__ = [
    "Classes",
    "ReleaseFolder",
    "Released",
    "Statement",
    "Votes",
    "admit",
    "aggregate",
    "read_counts",
    "read_truth",
    "read_votes",
    "statement_of",
]
