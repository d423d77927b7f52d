"""``mapl learners``: the learners that have a name."""

from __future__ import annotations

import typer
from rich.table import Table

from mapl.cli.console import out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.release.statement.statement import to_json


def learners(
    as_json: bool = option(panels.RUNNING, "Print one JSON object.", False, "--json"),
) -> None:
    """List the named learners; any other learner can be imported (module:name) or run as a program."""
    from mapl.students.auto import STUDENTS_ONLY
    from mapl.teachers.learners.presets import PRESETS

    summaries = {name: preset.summary for name, preset in PRESETS.items()} | STUDENTS_ONLY
    if as_json:
        typer.echo(to_json(summaries))
        return
    shown = Table("name", "what it is", title="Learners for --learner and --student", title_justify="left")
    for name, summary in summaries.items():
        shown.add_row(name, summary)
    out.print(shown)
