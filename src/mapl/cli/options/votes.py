"""Options about teachers and what becomes of their votes that verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

from mapl.cli.dialect.panels import TEACHERS

LearnerName = Annotated[
    str | None,
    typer.Option(
        help="Teachers: a learner of `mapl learners`, or module:name to import.",
        show_default="ridge",
        rich_help_panel=TEACHERS,
    ),
]
TimeLimit = Annotated[
    str,
    typer.Option(
        help="Seconds of computing that one teacher may use, or none for no limit.", rich_help_panel=TEACHERS
    ),
]
NumberOfTeachers = Annotated[
    str,
    typer.Option(help="Number of teachers, or auto: from --rows and other public facts.", rich_help_panel=TEACHERS),
]
Mechanism = Annotated[
    str,
    typer.Option(
        help="A name of `mapl mechanisms`, or auto: chosen by public facts, never by votes.",
        rich_help_panel=TEACHERS,
    ),
]
MayAbstain = Annotated[
    bool,
    typer.Option(
        "--may-abstain/--must-answer",
        help="Whether auto may take mechanisms that abstain on hard questions.",
        rich_help_panel=TEACHERS,
    ),
]
MaxAbstentions = Annotated[
    int | None, typer.Option(help="Halt right after this many abstentions.", rich_help_panel=TEACHERS)
]
AgreementText = Annotated[
    str | None,
    typer.Option(
        help="Expected share of the winner's votes, such as 0.95:0.6,0.7:0.4 (share:weight).",
        rich_help_panel=TEACHERS,
    ),
]
