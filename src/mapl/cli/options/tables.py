"""Options about tables that verbs share: the same word means the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapl.cli.dialect.panels import TABLES

PrivateTable = Annotated[
    str,
    typer.Argument(
        metavar="PRIVATE",
        help="The private labelled table: a .csv, .jsonl, .parquet or .arrow file, a folder or pattern of them, "
        "- for standard input, s3://..., or a database (postgresql://...?table=NAME, duckdb:///FILE?table=NAME, "
        "sqlite:///FILE?table=NAME).",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="How much memory to use, such as 4GB; a larger private table waits in scratch files (TMPDIR).",
        show_default="half of the machine's",
        rich_help_panel=TABLES,
    ),
]
Label = Annotated[str, typer.Option(help="The column of the labels.", rich_help_panel=TABLES)]
Labels = Annotated[
    list[str],
    typer.Option(
        "--label",
        help="The column of the labels. Repeatable: teachers learn several labels within one budget.",
        rich_help_panel=TABLES,
    ),
]
ClassNames = Annotated[
    str | None,
    typer.Option(help="Names of the classes, separated by commas; never read off PRIVATE.", rich_help_panel=TABLES),
]
Regression = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH",
        help="The label is a number of this public range, to which it is cut; in the place of --classes.",
        rich_help_panel=TABLES,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        help="What the columns are (`mapl schema`).", show_default="from --public", rich_help_panel=TABLES
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(
        help="About how many people the private table has, as far as the public knows.",
        rich_help_panel=TABLES,
    ),
]
