"""Options about tables that verbs share: the same word means the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapl.cli.dialect.panels import TABLES, option

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
    option(
        TABLES,
        "How much memory to use, such as 4GB, beside the 0.3GB that mapl takes itself; a larger private table "
        "waits in scratch files (TMPDIR).",
        show_default="half of the machine's",
    ),
]
Label = Annotated[str, option(TABLES, "The column of the labels.")]
LabelColumns = Annotated[
    list[str],
    option(
        TABLES, "The column of the labels. Repeatable: teachers learn several labels within one budget.", "--label"
    ),
]
ClassNames = Annotated[
    str | None, option(TABLES, "Names of the classes, separated by commas; never read off PRIVATE.")
]
Regression = Annotated[
    str | None,
    option(
        TABLES,
        "The label is a number of this public range, to which it is cut; in the place of --classes.",
        metavar="LOW,HIGH",
    ),
]
SchemaFile = Annotated[
    Path | None, option(TABLES, "What the columns are (`mapl schema`).", show_default="from --public")
]
RowCount = Annotated[
    int | None, option(TABLES, "About how many people the private table has, as far as the public knows.")
]
