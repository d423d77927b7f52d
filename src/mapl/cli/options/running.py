"""Options about how a verb runs and prints that verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapl.cli.dialect.panels import RUNNING

RunOut = Annotated[
    Path,
    typer.Option(
        "--out",
        help="Folder of the run; the same command goes on with an unfinished one.",
        rich_help_panel=RUNNING,
    ),
]
Jobs = Annotated[
    int, typer.Option(help="Processes that train teachers; -1 for one per processor.", rich_help_panel=RUNNING)
]
Engine = Annotated[
    str,
    typer.Option(
        help="Where teachers are trained and rows counted: local, dask, ray, or a cluster (dask://host:8786, "
        "ray://auto). No result depends on it.",
        rich_help_panel=RUNNING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, help="Seeded coins, for tests only: the result is NOT PRIVATE.", rich_help_panel=RUNNING),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of a table.", rich_help_panel=RUNNING)
]
