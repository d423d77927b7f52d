"""What else can be audited by name, with its twins: soft labels, stable queries, private selections, noisy sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mapl.audit.finding import Finding
from mapl.audit.moments.twins import SUMS_TWINS, examine_sums
from mapl.audit.selection_laws import BEST_OF_TWINS, REPETITION_TWINS, examine_best_of, examine_repetition
from mapl.audit.soft.labels import audit_means, audit_medians, in_coarse_steps
from mapl.audit.soft.shares import audit_shares
from mapl.audit.soft.twins import MEAN_TWINS, MEDIAN_TWINS, SHARE_TWINS
from mapl.audit.stable.twins import TWINS as QUERY_TWINS
from mapl.audit.stable.twins import examine_stable_queries as examined_queries
from mapl.errors import InvalidParameter
from mapl.mechanisms import Task, make
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.release.best_of import BestOf
from mapl.release.moment_sums import MomentSums
from mapl.release.private_selection import RandomRepetition
from mapl.types import Adjacency, Budget, positive_integer

MEDIANS, MEANS, STABLE_QUERY = "soft-medians", NoisyMean.name, "stable-query"
BOTH: tuple[Adjacency, ...] = ("add-remove", "replace-one")
COARSE = 3
"""Steps of a score, and teachers, of the world in which every sum of scores is listed; the price is the same."""
SCORE_RANGE = 500
MOST_TEACHERS = 120
"""Of medians: all histograms over three cells are listed."""


@dataclass(frozen=True, slots=True)
class Instance:
    """What is asked about: a budget, neighbours, and how large the instance is."""

    budget: Budget
    adjacency: Adjacency = "add-remove"
    teachers: int | None = None
    max_abstentions: int = 2
    queries: int = 12

    def __post_init__(self) -> None:
        positive_integer(max_abstentions=self.max_abstentions, queries=self.queries)
        if self.teachers is not None:
            positive_integer(teachers=self.teachers)


@dataclass(frozen=True, slots=True)
class FurtherAudit:
    """How something is audited, its broken twins with what is wrong with each, and which neighbours it knows.

    Without neighbours of its own its adjacency is that of votes: one teacher changes.
    """

    examine: Callable[[Instance, str | None], Finding]
    twins: Mapping[str, str]
    adjacencies: tuple[Adjacency, ...] = ()


def medians(asked: Instance, twin: str | None) -> Finding:
    """Audit rounded medians that a ladder releases, over three cells."""
    teachers = min(asked.teachers or MOST_TEACHERS, MOST_TEACHERS)
    ladder = make("ladder", Task(asked.budget, teachers, 2, asked.queries), max_abstentions=asked.max_abstentions)
    law = None if twin is None else MEDIAN_TWINS[twin].make(ladder)
    # A limit that is off by one shows itself only one abstention later.
    questions = max(asked.queries, asked.max_abstentions + 2)
    found = audit_medians(ladder, asked.budget, n_teachers=teachers, questions=questions, law=law)
    return replace(found, mechanism=MEDIANS)


def means(asked: Instance, twin: str | None) -> Finding:
    """Audit noisy means of scores, in a world of few teachers and coarse steps."""
    fine = NoisyMean.for_budget(asked.budget, COARSE, max_answers=asked.queries, high=SCORE_RANGE)
    coarse = in_coarse_steps(fine, COARSE, COARSE)
    return audit_means(coarse, asked.budget, law=None if twin is None else MEAN_TWINS[twin].make(coarse))


def shares(asked: Instance, twin: str | None) -> Finding:
    """Audit noisy shares of three classes, in coarse steps."""
    fine = NoisyShares.for_questions(asked.budget, COARSE, n_questions=asked.queries, n_shares=COARSE)
    coarse = in_coarse_steps(fine, 2, COARSE)
    return audit_shares(coarse, asked.budget, law=None if twin is None else SHARE_TWINS[twin].make(coarse))


AUDITS: dict[str, FurtherAudit] = {
    MEDIANS: FurtherAudit(medians, {name: twin.summary for name, twin in MEDIAN_TWINS.items()}),
    MEANS: FurtherAudit(means, {name: twin.summary for name, twin in MEAN_TWINS.items()}),
    NoisyShares.name: FurtherAudit(shares, {name: twin.summary for name, twin in SHARE_TWINS.items()}),
    STABLE_QUERY: FurtherAudit(
        lambda asked, twin: examined_queries(asked.budget, adjacency=asked.adjacency, twin=twin),
        {name: twin.summary for name, twin in QUERY_TWINS.items()},
        BOTH,
    ),
    BestOf.name: FurtherAudit(
        lambda asked, twin: examine_best_of(asked.budget.epsilon, adjacency=asked.adjacency, twin=twin),
        BEST_OF_TWINS,
        (*BOTH, "labels"),
    ),
    RandomRepetition.name: FurtherAudit(
        lambda asked, twin: examine_repetition(asked.budget.epsilon, adjacency=asked.adjacency, twin=twin),
        REPETITION_TWINS,
        (*BOTH, "labels"),
    ),
    MomentSums.name: FurtherAudit(
        lambda asked, twin: examine_sums(asked.budget, adjacency=asked.adjacency, twin=twin),
        {name: twin.summary for name, twin in SUMS_TWINS.items()},
        (*BOTH, "labels"),
    ),
}


def examine_further(name: str, asked: Instance, *, twin: str | None = None) -> Finding:
    """Carry out an audit of that name, of a broken twin where one is named.

    Examples
    --------
    >>> examine_further("best-of", Instance(Budget(1.0, 0.0))).verdict.value
    'within the claim'
    >>> examine_further("best-of", Instance(Budget(1.0, 0.0)), twin="double-weights").verdict.value
    'violated'
    """
    known = AUDITS[name]
    if twin is not None and twin not in known.twins:
        raise InvalidParameter(f"{name} has no twin {twin}; it has: {', '.join(known.twins)}.")
    if known.adjacencies and asked.adjacency not in known.adjacencies:
        raise InvalidParameter(
            f"{name} knows {', '.join(known.adjacencies)}, not {asked.adjacency}; choose one of them."
        )
    return known.examine(asked, twin)
