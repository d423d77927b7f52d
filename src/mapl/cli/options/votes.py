"""Options about teachers and what becomes of their votes that verbs share."""

from __future__ import annotations

from typing import Annotated

from mapl.cli.dialect.panels import TEACHERS, option

LearnerName = Annotated[
    str | None,
    option(TEACHERS, "Teachers: a learner of `mapl learners`, or module:name to import.", show_default="ridge"),
]
TimeLimit = Annotated[str, option(TEACHERS, "Seconds of computing that one teacher may use, or none for no limit.")]
NumberOfTeachers = Annotated[
    str, option(TEACHERS, "Number of teachers, or auto: from --rows and other public facts.")
]
Mechanism = Annotated[
    str, option(TEACHERS, "A name of `mapl mechanisms`, or auto: chosen by public facts, never by votes.")
]
MayAbstain = Annotated[
    bool,
    option(
        TEACHERS, "Whether auto may take mechanisms that abstain on hard questions.", "--may-abstain/--must-answer"
    ),
]
MaxAbstentions = Annotated[int | None, option(TEACHERS, "Halt right after this many abstentions.")]
AgreementText = Annotated[
    str | None, option(TEACHERS, "Expected share of the winner's votes, such as 0.95:0.6,0.7:0.4 (share:weight).")
]
