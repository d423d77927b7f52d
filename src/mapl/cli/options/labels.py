"""The options ``--label-values`` and ``--classes``, and where the owner of a table is told how labels were read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mapl.cli.console import tell
from mapl.cli.dialect.panels import TABLES, option
from mapl.data.tables.classes import Classes
from mapl.data.tables.label_values import LabelValues, parse_label_values

NAMES_OR_NUMBER = "Names of the classes, separated by commas, or how many there are."
FOR_THE_OWNER = "mapl: which private rows count is told in {file}, for their owner only."

LabelValuesText = Annotated[
    str | None, option(TABLES, "What labels mean that are no names of classes, such as 0=no,1=yes; never guessed.")
]


def label_values_of(given: str | None) -> LabelValues:
    """Read what labels mean; without the option they are matched by name."""
    return () if given is None else parse_label_values(given)


def count_classes(given: str) -> int:
    """Return how many classes there are, by their names or by a number."""
    try:
        return int(given)
    except ValueError:
        return len(Classes.parse(given))


def tell_owner(folder: Path) -> None:
    """Say where it stands how the table was read, in the same words whatever that is."""
    from mapl.pipeline.runs.folder import RunFolder

    tell(FOR_THE_OWNER.format(file=RunFolder(folder).owner_check))
