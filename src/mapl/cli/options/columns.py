"""The options ``--drop`` and ``--categories``: what is said about single columns without editing a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mapl.cli.dialect.panels import TABLES, option
from mapl.data.tables.column_choices import ColumnChoices

BY_OPTIONS = "change with --categories or --drop"
HOW_TO_CHANGE = f"{BY_OPTIONS}, or a file of mapl schema"

Dropped = Annotated[list[str], option(TABLES, "A column to leave out, which both tables may have; repeatable.")]
Categories = Annotated[
    list[str],
    option(TABLES, "A column that is a category, whatever it looks like, such as codes of digits; repeatable."),
]


def choices_of(drop: Sequence[str], categories: Sequence[str]) -> ColumnChoices:
    """Put both options together; naming a column twice says nothing new."""
    return ColumnChoices(tuple(dict.fromkeys(drop)), tuple(dict.fromkeys(categories)))
