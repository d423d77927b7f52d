"""``mapl mechanisms``: the registered mechanisms and what each is for."""

from __future__ import annotations

import typer
from rich.table import Table

from mapl.cli.console import out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.mechanisms import REGISTRY
from mapl.release.statement.statement import to_json

KINDS = {
    "release": "answers many questions",
    "paper": "from a paper, for comparison",
    "single": "one question at a time",
    "none": "no privacy",
}


def mechanisms(
    as_json: bool = option(panels.RUNNING, "Print one JSON object.", False, "--json"),
) -> None:
    """List the mechanisms by name; --json also lists the settings that each takes."""
    if as_json:
        listed = [
            {
                "name": name,
                "classes": None if entry.classes is None else list(entry.classes),
                "kind": entry.kind,
                "settings": list(entry.settings),
                "summary": entry.summary,
            }
            for name, entry in REGISTRY.items()
        ]
        typer.echo(to_json({"mechanisms": listed}))
        return
    table = Table("name", "classes", "kind", "summary", title="Mechanisms", title_justify="left")
    for name, entry in REGISTRY.items():
        classes = "any" if entry.classes is None else " or ".join(map(str, entry.classes))
        table.add_row(name, classes, KINDS[entry.kind], entry.summary)
    out.print(table)
