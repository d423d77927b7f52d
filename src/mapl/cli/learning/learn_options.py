"""The options that only ``mapl learn`` has: which method, which cells, which student."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.errors import InvalidParameter

if TYPE_CHECKING:
    from mapl.students.active import Active
    from mapl.students.strategies.names import Strategy


class Parts(StrEnum):
    """What cells are."""

    points = "points"
    centroids = "centroids"
    leaves = "leaves"


class How(StrEnum):
    """How a student learns from released labels."""

    auto = "auto"
    plain = "plain"
    imputed = "imputed"
    self_training = "self-training"
    voting = "voting"
    cleaned = "cleaned"
    active = "active"
    soft = "soft"
    soft_medians = "soft-medians"
    soft_both = "soft-both"


class Metric(StrEnum):
    """What a student is to be good at."""

    accuracy = "accuracy"
    balanced = "balanced"
    auc = "auc"


class Choose(StrEnum):
    """How an active student chooses the rows it asks about."""

    margin = "margin"
    committee = "committee"
    robust_cal = "robust-cal"


class Answerer(StrEnum):
    """Who answers an active student."""

    auto = "auto"
    link = "link"
    noisy_max = "noisy-max"
    ladder = "ladder"
    hybrid = "hybrid"
    lzcw21_gaussian = "lzcw21-gaussian"


PublicTable = Annotated[Path | None, option(panels.TABLES, "Public rows with the same columns, without labels.")]
OnlyLabels = Annotated[bool, option(panels.BUDGET, "Short for --adjacency labels.", "--label-private")]
EarlierFolders = Annotated[
    list[Path],
    option(
        panels.BUDGET,
        "Folder of an earlier run on the same people. --epsilon and --delta are then for all runs "
        "together, and this one spends what is left. Repeatable.",
        "--continue",
    ),
]
MethodName = Annotated[
    str,
    option(
        panels.METHOD,
        "moments, cells, teachers, auto (from public facts; a named learner means teachers), or "
        "select:moments,cells: try both and choose privately.",
    ),
]
NumberOfQuestions = Annotated[
    int | None,
    option(panels.METHOD, "Ask N of the public rows only.", show_default="all of them; active: a quarter"),
]
ErrorShare = Annotated[
    float, option(panels.METHOD, "Share of the budget for a private estimate of the teachers' error.")
]
LearnerCommand = Annotated[
    str | None, option(panels.TEACHERS, 'A program as learner: "Rscript fit.R {shard} {queries} {votes}".')
]
NumberOfCells = Annotated[
    str, option(panels.CELLS, "Number of cells, or auto: from --rows and other public facts.")
]
CellKind = Annotated[Parts, option(panels.CELLS, "What cells are: nearest public rows, centroids, leaves.")]
Rounds = Annotated[
    int, option(panels.CELLS, "Count once, or again in cells that the first student draws.", min=1, max=2)
]
PerUnit = Annotated[
    str | None,
    option(
        panels.CELLS,
        "The record of a unit that counts: keyed (by lot), only (there is one), or latest:COLUMN.",
        show_default="keyed",
    ),
]
StudentName = Annotated[str, option(panels.STUDENT, "The student's learner: a preset, auto, or module:name.")]
StudentStrategy = Annotated[
    How,
    option(panels.STUDENT, "How the student learns; active: it chooses the rows to ask; soft: from probabilities."),
]
ActiveChoice = Annotated[
    Choose | None, option(panels.STUDENT, "Active: how rows are chosen.", show_default="margin")
]
LabelService = Annotated[
    Answerer | None,
    option(
        panels.STUDENT,
        "Active: who answers; hybrid: a ladder over all rows, then link or noisy-max; lzcw21-gaussian: the "
        "paper's own.",
        show_default="auto",
    ),
]
Fill = Annotated[
    str | None,
    option(
        panels.STUDENT,
        "Imputed: what unanswered rows get, the number of a class counted from 0, or random.",
        show_default="0",
    ),
]
NumberOfVoters = Annotated[
    int | None, option(panels.STUDENT, "Voting: how many models vote.", "--voters", min=1, show_default="11")
]
MetricName = Annotated[
    Metric,
    option(panels.STUDENT, "What the student is to be good at: being right, finding every class, or ranking."),
]
ClassWeight = Annotated[
    str | None,
    option(
        panels.STUDENT, "What classes weigh where the student decides: yes=5,no=1.", show_default="all the same"
    ),
]
TestTable = Annotated[Path | None, option(panels.REPORT, "Public labelled rows, to tell the student's accuracy.")]
Groups = Annotated[
    list[str], option(panels.REPORT, "Public column whose values are compared in the report; repeatable.")
]


def strategy_of(
    how: How, choice: Choose | None, service: Answerer | None, fill: str | None = None, voters: int | None = None
) -> str | Active | Strategy:
    """Put the options of a strategy together; most have none."""
    from mapl.students.active import Active
    from mapl.students.strategies.imputed import Imputed
    from mapl.students.strategies.voting import Voting

    for options, given, own in (
        ("--active and --label-service", choice is not None or service is not None, How.active),
        ("--fill", fill is not None, How.imputed),
        ("--voters", voters is not None, How.voting),
    ):
        if given and how is not own:
            verb = "are" if " and " in options else "is"
            raise InvalidParameter(
                f"{options} {verb} for --strategy {own.value}, and the strategy is {how.value}; take that "
                f"strategy, or leave {'them' if verb == 'are' else 'it'} away."
            )
    if how is How.active:
        return Active("margin" if choice is None else choice.value, "auto" if service is None else service.value)
    if fill is not None:
        return Imputed(int(fill) if fill.isascii() and fill.isdecimal() else fill)  # type: ignore[arg-type]
    return how.value if voters is None else Voting(voters)
