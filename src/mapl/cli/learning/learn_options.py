"""The options that only ``mapl learn`` has: which method, which cells, which student."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapl.cli.dialect import panels
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


PublicTable = Annotated[
    Path | None,
    typer.Option(help="Public rows with the same columns, without labels.", rich_help_panel=panels.TABLES),
]
OnlyLabels = Annotated[
    bool, typer.Option("--label-private", help="Short for --adjacency labels.", rich_help_panel=panels.BUDGET)
]
EarlierFolders = Annotated[
    list[Path],
    typer.Option(
        "--continue",
        help="Folder of an earlier run on the same people. --epsilon and --delta are then for all runs "
        "together, and this one spends what is left. Repeatable.",
        rich_help_panel=panels.BUDGET,
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        help="moments, cells, teachers, auto (from public facts; a named learner means teachers), or "
        "select:moments,cells: try both and choose privately.",
        rich_help_panel=panels.METHOD,
    ),
]
NumberOfQuestions = Annotated[
    int | None,
    typer.Option(
        help="Ask N of the public rows only.",
        show_default="all of them; active: a quarter",
        rich_help_panel=panels.METHOD,
    ),
]
ErrorShare = Annotated[
    float,
    typer.Option(
        help="Share of the budget for a private estimate of the teachers' error.",
        rich_help_panel=panels.METHOD,
    ),
]
LearnerCommand = Annotated[
    str | None,
    typer.Option(
        help='A program as learner: "Rscript fit.R {shard} {queries} {votes}".',
        rich_help_panel=panels.TEACHERS,
    ),
]
NumberOfCells = Annotated[
    str,
    typer.Option(
        help="Number of cells, or auto: from --rows and other public facts.", rich_help_panel=panels.CELLS
    ),
]
CellKind = Annotated[
    Parts,
    typer.Option(help="What cells are: nearest public rows, centroids, leaves.", rich_help_panel=panels.CELLS),
]
Rounds = Annotated[
    int,
    typer.Option(
        min=1,
        max=2,
        help="Count once, or again in cells that the first student draws.",
        rich_help_panel=panels.CELLS,
    ),
]
PerUnit = Annotated[
    str | None,
    typer.Option(
        help="The record of a unit that counts: keyed (by lot), only (there is one), or latest:COLUMN.",
        show_default="keyed",
        rich_help_panel=panels.CELLS,
    ),
]
StudentName = Annotated[
    str,
    typer.Option(help="The student's learner: a preset, auto, or module:name.", rich_help_panel=panels.STUDENT),
]
StudentStrategy = Annotated[
    How,
    typer.Option(
        help="How the student learns; active: it chooses the rows to ask; soft: from probabilities.",
        rich_help_panel=panels.STUDENT,
    ),
]
ActiveChoice = Annotated[
    Choose | None,
    typer.Option(help="Active: how rows are chosen.", show_default="margin", rich_help_panel=panels.STUDENT),
]
LabelService = Annotated[
    Answerer | None,
    typer.Option(
        help="Active: who answers; hybrid: a ladder over all rows, then link or noisy-max; lzcw21-gaussian: the "
        "paper's own.",
        show_default="auto",
        rich_help_panel=panels.STUDENT,
    ),
]
Fill = Annotated[
    str | None,
    typer.Option(
        help="Imputed: what unanswered rows get, the number of a class counted from 0, or random.",
        show_default="0",
        rich_help_panel=panels.STUDENT,
    ),
]
NumberOfVoters = Annotated[
    int | None,
    typer.Option(
        "--voters",
        min=1,
        help="Voting: how many models vote.",
        show_default="11",
        rich_help_panel=panels.STUDENT,
    ),
]
MetricName = Annotated[
    Metric,
    typer.Option(
        help="What the student is to be good at: being right, finding every class, or ranking.",
        rich_help_panel=panels.STUDENT,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="What classes weigh where the student decides: yes=5,no=1.",
        show_default="all the same",
        rich_help_panel=panels.STUDENT,
    ),
]
TestTable = Annotated[
    Path | None,
    typer.Option(help="Public labelled rows, to tell the student's accuracy.", rich_help_panel=panels.REPORT),
]
Groups = Annotated[
    list[str],
    typer.Option(
        help="Public column whose values are compared in the report; repeatable.",
        rich_help_panel=panels.REPORT,
    ),
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
