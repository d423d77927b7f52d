"""``mapl combine``: answers of all sites in, a student with its statement out, or the rounds that are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapl.cli.console import EXHAUSTED, out, tell, warn
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.dialect.spelling import BY_PLAN
from mapl.cli.learning.learn_options import StudentName, TestTable
from mapl.cli.options.learner import learner_of
from mapl.cli.options.running import AsJson
from mapl.parameters import speaking
from mapl.release.statement.statement import to_json

if TYPE_CHECKING:
    from mapl.federation.message import SiteAnswer


def combine(
    *,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder that mapl federate wrote.")],
    answers: Annotated[
        list[Path], typer.Argument(metavar="ANSWERS", help="The files of all sites, of all rounds so far.")
    ],
    without: Annotated[
        list[str],
        option(panels.TABLES, "A site that is not waited for any more; what it sent before counts. Repeatable."),
    ] = [],  # noqa: B006 – typer reads it, and nobody else
    student: StudentName = "auto",
    test: TestTable = None,
    to: Annotated[Path, option(panels.RUNNING, "Folder for the public result.", "--out")],
    as_json: AsJson = False,
) -> None:
    """Add up what all sites answered, and publish a student, or the rounds that are over.

    Writes OUT/public (student.skops, statement.json, report.html, sites.json, ...); while rounds are still to come,
    OUT/public/rounds-N.json, which every site needs for its next answer. Nothing is spent here.
    """
    from mapl.cli.learning.learn_wording import as_record, table
    from mapl.cli.learning.report import write_report_of
    from mapl.federation.combination import Coordinator
    from mapl.federation.message import read_answers
    from mapl.federation.plan_folder import PlanFolder
    from mapl.federation.rounds import Heard
    from mapl.pipeline.runs.folder import RunFolder

    folder = RunFolder(to)
    chosen = None if student == "auto" else learner_of(student)
    given = read_answers(answers)
    with speaking(BY_PLAN):
        agreed = PlanFolder(plan).read()
        found = Coordinator(PlanFolder(plan), folder).combine(given, left_out=without, student=chosen)
    sites = _sites_of(given, agreed.sites)
    if isinstance(found, Heard):
        number = len(found.rounds)
        told = folder.public / f"rounds-{number}.json"
        if as_json:
            typer.echo(to_json({"rounds": number, "file": str(told), "out": str(to), **sites}))
        else:
            out.print(
                f"Round {number} is over, with {_listed(sites)}. Send {told} to all sites, for "
                "mapl site --past-rounds.",
                soft_wrap=True,
            )
        return
    evaluation = write_report_of(folder, test=None if found.student is None else test)
    out.print(table(found, evaluation, to, sites)) if not as_json else typer.echo(
        to_json({**as_record(found, evaluation, to), **sites})
    )
    for warning in () if found.student is None else found.student.warnings:
        warn(warning)
    if found.student is None:
        tell("mapl: no noisy count speaks for any class, so there is no student.")
        raise typer.Exit(EXHAUSTED)


def _sites_of(answers: Sequence[SiteAnswer], planned: Sequence[str]) -> dict[str, list[str]]:
    """Return which sites of the plan are in the last round, and which are not, in the order of the plan."""
    last = max(one.round for one in answers)
    inside = {one.site for one in answers if one.round == last}
    return {
        "sites": [name for name in planned if name in inside],
        "left out": [name for name in planned if name not in inside],
    }


def _listed(sites: Mapping[str, Sequence[str]]) -> str:
    without = f", without {', '.join(sites['left out'])}" if sites["left out"] else ""
    return f"{', '.join(sites['sites'])}{without}"
