"""The options ``--drop`` and ``--categories``: what is said about single columns without editing a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from mapl.cli.dialect.panels import TABLES
from mapl.data.tables.column_choices import ColumnChoices

HOW_TO_CHANGE = "change with --categories or --drop, or a file of mapl schema"

Dropped = Annotated[
    list[str],
    typer.Option(help="A column to leave out, which both tables may have; repeatable.", rich_help_panel=TABLES),
]
Categories = Annotated[
    list[str],
    typer.Option(
        help="A column that is a category, whatever it looks like, such as codes of digits; repeatable.",
        rich_help_panel=TABLES,
    ),
]


def choices_of(drop: Sequence[str], categories: Sequence[str]) -> ColumnChoices:
    """Put both options together; naming a column twice says nothing new."""
    return ColumnChoices(tuple(dict.fromkeys(drop)), tuple(dict.fromkeys(categories)))
