"""What is promised to whom: the neighbouring data sets, the unit, and what has to hold for it to be true."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.types import ADJACENCY, UNIT, Adjacency


@dataclass(frozen=True, slots=True)
class Promise:
    """The words of a guarantee, all public.

    ``words`` completes the sentence "they would have concluded the same with nearly the same probability had ...".
    It holds if what mapl ``checked`` and what people have to see to, the ``assumptions``, is so. ``kind`` is the
    short name of the adjacency: one of `mapl.types.Adjacency`, or "teacher" where votes alone are known.
    """

    adjacency: str
    unit: str
    assumptions: tuple[str, ...]
    words: str
    kind: str = "other"
    checked: tuple[str, ...] = ()

    @property
    def terms(self) -> str:
        """What every printed epsilon names besides its delta."""
        return f"adjacency: {self.adjacency}; unit: {self.unit}"


ADD_UP = (
    "Releasing the same votes again, or other votes of teachers trained on the same people, spends again: "
    "the guaranteed epsilons and the deltas of all releases add up."
)

TEACHER_PROMISE = Promise(
    adjacency=ADJACENCY,
    unit=UNIT,
    assumptions=(
        "Every person's records went to exactly one teacher: the teachers' training sets are disjoint shards, and "
        "which shard a person belongs to does not depend on other people.",
        "Nothing was fitted on pooled private rows: scaling, encoding, feature selection and tuning happened "
        "inside each teacher's own shard, or on public data.",
        "Every teacher voted exactly once on every question.",
        "The votes file itself, and anything else computed from it, stays private.",
        "The mechanism and its settings were chosen from public facts, not tuned on these votes.",
        ADD_UP,
    ),
    words="one teacher been trained on entirely different records",
    kind="teacher",
)
"""What votes alone allow to promise: mapl did not see how the teachers were trained."""

CHECKED = (
    "Every teacher was handed a copy of its own shard only, and the shards were verified to be "
    "disjoint on the identities of their records.",
    "Every teacher voted exactly once on every question; one that had nothing to learn from, "
    "failed or answered with no declared class cast a fixed vote.",
    "Mechanism, settings and limits were fixed in the plan, or follow from what was released "
    "before, and every spend was on disk before its labels left the run.",
)

LEARNER = (
    "The learner learns from the rows it is handed and from public things only; code of your "
    "own that reads other files, keeps something between calls or talks to the outside is not covered."
)

NOT_COVERED = (
    "Running times, and that or why a run was refused, stopped or failed, are not covered; do not publish them.",
    "Every other release about the same people, from this table or another, spends again: the "
    "guaranteed epsilons and the deltas of all releases add up.",
)


def assume_chosen_without_looking(what: str) -> str:
    """Say that the settings of a run were made from public facts."""
    return (
        f"Classes, columns, the declared number of rows, {what}the public rows and the budget "
        "were chosen without looking at the private rows."
    )


def assume_kept_private(what: str) -> str:
    """Say what must never leave the private half of a run, or return to an earlier state."""
    return (
        f"The private half of the run ({what}) stays private, and its ledger is never edited, "
        "copied to spend twice, or put back to an earlier state."
    )


FOR_THE_USER = (
    assume_chosen_without_looking("the learner and its settings, "),
    LEARNER,
    assume_kept_private("key of the shards, votes, ledger"),
    *NOT_COVERED,
)


def promise_of(adjacency: Adjacency, unit: str | None) -> Promise:
    """Return the promise of a run on a private table; `unit` is the column of ids, None for one record."""
    if adjacency == "add-remove":
        return add_remove(unit)
    if adjacency == "replace-one":
        return replace_one(unit)
    if adjacency == "labels":
        return promise_labels(unit)
    raise InvalidParameter(f"The adjacency is {adjacency!r}; choose add-remove, replace-one or labels.")


def add_remove(unit: str | None = None) -> Promise:
    """Promise to hide whether a unit is in the table at all.

    The shard of a record is a keyed hash of its own unit's id, and K is public, so that a unit more or less changes
    what one teacher saw and nothing about any other.
    """
    records = "one record" if unit is None else f"all records of one {unit}"
    return Promise(
        adjacency=f"{records} {'is' if unit is None else 'are'} added to the private table or removed from it",
        unit=_unit(unit),
        checked=(
            f"The shard of a record is a keyed hash of {_identity(unit)}, so it depends on nobody else.",
            *CHECKED,
        ),
        assumptions=(assume_one_person(unit), *FOR_THE_USER),
        words=f"{'any one record' if unit is None else f'the records of any one {unit}'} been left out of the "
        "private table or added to it",
        kind="add-remove",
    )


def replace_one(unit: str | None) -> Promise:
    """Promise to hide what a unit's records say, not whether it is in the table.

    The id stays, hence the shard: only one teacher changes. Without a column of ids a record's id is its content,
    and a replaced record would leave one shard and enter another.
    """
    if unit is None:
        raise InvalidParameter(
            "Replace-one needs a column of ids, since without one a replaced record moves to another shard and two "
            f"teachers change; give {spell('unit', 'COLUMN')}, or take add-remove."
        )
    return Promise(
        adjacency=(
            f"the records of one {unit} are replaced by any other records with the same {unit}; which values of "
            f"{unit} are in the table, and hence how many, is the same in both tables and not hidden"
        ),
        unit=_unit(unit),
        checked=(
            f"The shard of a record is a keyed hash of {_identity(unit)}, so it depends on nobody else and not on "
            "what the record says.",
            *CHECKED,
        ),
        assumptions=(
            f"The values of {unit}, that is who is in the table, may be known to anybody.",
            assume_one_person(unit),
            *FOR_THE_USER,
        ),
        words=f"the records of any one {unit} said something entirely different",
        kind="replace-one",
    )


def promise_labels(unit: str | None = None) -> Promise:
    """Promise to hide labels only (BTT18, section 5): the features and ids of all rows count as public."""
    labels = (
        "the label of one record changes" if unit is None else f"the labels of all records of one {unit} change"
    )
    identity = "its features, which are public" if unit is None else f"its {unit}, which is public"
    return Promise(
        adjacency=f"{labels}; features{'' if unit is None else f', {unit}'} and number of rows are the same in "
        "both tables and not hidden",
        unit="the label of one record" if unit is None else f"the labels of all records with one value of {unit}",
        checked=(
            f"The shard of a record, and whether it serves as a question, is a keyed hash of "
            f"{identity}; labels play no part in it.",
            "The labels of rows that serve as questions were set aside and used for nothing.",
            *CHECKED,
        ),
        assumptions=(
            "Every feature of every row may be known to anybody, and no feature was made from labels.",
            assume_one_person(unit),
            *FOR_THE_USER,
        ),
        words=(
            f"{'the label of any one record' if unit is None else f'the labels of any one {unit}'} been different"
        ),
        kind="labels",
    )


def _unit(unit: str | None) -> str:
    if unit is None:
        return "one record, that is one row of the private table"
    return f"one {unit}, that is all records with one value of the column {unit}"


def _identity(unit: str | None) -> str:
    return "its own content" if unit is None else f"its own {unit}"


def assume_one_person(unit: str | None) -> str:
    if unit is None:
        return (
            "Every person has one record. Somebody with k records is protected k times less: "
            "epsilon is multiplied by k, and delta grows even faster; name a column of ids to protect people."
        )
    return (
        f"All records of a person carry the same {unit}. Somebody with k values of it is "
        "protected k times less: epsilon is multiplied by k, and delta grows even faster."
    )
