"""``mapl doctor``: is everything in place on this machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer
from rich.table import Table

from mapl.cli.console import BAD_INPUT, out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.release.statement.statement import to_json

MARKS = {"fine": "ok", "absent": "-", "trouble": "!!"}


def doctor(
    folder: Path = typer.Argument(Path(), metavar="[FOLDER]", help="Where runs are to be kept; here by default."),
    as_json: bool = option(panels.RUNNING, "Print one JSON object.", False, "--json"),
) -> None:
    """Look at the installation, the machine and a folder for runs; say what is missing and what to do.

    Nothing private is read and nothing is left behind. The exit code is 2 where something is in the way of a run.
    """
    from mapl.pipeline.machine import examine

    findings = examine(folder)
    fit = all(one.state != "trouble" for one in findings)
    if as_json:
        typer.echo(to_json({"fit": fit, "findings": [asdict(one) for one in findings]}))
    else:
        shown = Table("", "what", "found", title="mapl doctor", title_justify="left")
        for one in findings:
            shown.add_row(MARKS[one.state], one.what, one.words)
        out.print(shown)
        out.print("Next: mapl demo" if fit else "Mend what is marked !!, then run mapl doctor again.")
    if not fit:
        raise typer.Exit(BAD_INPUT)
