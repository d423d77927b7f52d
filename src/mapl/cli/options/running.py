"""Options about how a verb runs and prints that verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mapl.cli.dialect.panels import RUNNING, option

RunOut = Annotated[
    Path, option(RUNNING, "Folder of the run; the same command goes on with an unfinished one.", "--out")
]
Jobs = Annotated[int, option(RUNNING, "Processes that train teachers; -1 for one per processor.")]
Engine = Annotated[
    str,
    option(
        RUNNING,
        "Where teachers are trained and rows counted: local, dask, ray, or a cluster (dask://host:8786, "
        "ray://auto). No result depends on it.",
    ),
]
Seed = Annotated[int | None, option(RUNNING, "Seeded coins, for tests only: the result is NOT PRIVATE.", min=0)]
AsJson = Annotated[bool, option(RUNNING, "Print one JSON object instead of a table.", "--json")]
