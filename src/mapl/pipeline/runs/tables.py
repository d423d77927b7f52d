"""The tables that a run is given, by where they lie, and what is declared about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mapl.data.sources.source import Address
from mapl.data.sources.table_files import FileSource
from mapl.data.tables.classes import Classes
from mapl.data.tables.column_choices import NO_CHOICES, ColumnChoices
from mapl.data.tables.label_values import LabelValues
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import PrivateTable
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.case import Declared
from mapl.pipeline.runs.owner.look import OwnerLook
from mapl.pipeline.runs.private_input import read_private


@dataclass(frozen=True, slots=True)
class Tables:
    """The files of a run, and what is declared about them."""

    private: Address
    label: str
    public: Path | None = None
    label_private: bool = False
    unit: str | None = None
    classes: Classes | None = None
    schema: Schema | None = None
    groups: tuple[str, ...] = ()
    test: Path | None = None
    no_unit: bool = False
    """Declares that every record stands for itself, whatever public columns look like."""
    choices: ColumnChoices = NO_CHOICES
    label_values: LabelValues = ()
    """What labels mean that are no names of classes."""
    memory: int | None = None
    """How many bytes reading the private table may take; larger tables wait in scratch files."""
    number_range: NumberRange | None = None
    """Where labels go from and to, if they are numbers."""
    further: tuple[str, ...] = ()
    """The labels beside the first, where rows have several."""

    def __post_init__(self) -> None:
        for role, path in (("public", self.public), ("test", self.test)):
            if path is not None and _same_file(path, self.private):
                raise InvalidParameter(
                    f"{spell(role)} names the private table itself; what is made of it would not be protected. "
                    "Give rows of other people that may be known to anybody."
                )
        if self.public is not None and self.label_private:
            raise InvalidParameter(
                f"There are public rows, and {spell('label_private')} says that the features of the private table "
                "are public themselves; give one of the two."
            )
        if self.public is None and not self.label_private and self.schema is None:
            raise InvalidParameter(
                f"Nothing public is known about the rows. Give a table of unlabelled rows with {spell('public')}; "
                f"or what the columns are, ranges of numbers and lists of categories, with {spell('schema')}; or "
                f"{spell('label_private')} where the features of the private table are public themselves."
            )
        if self.further and self.public is None and not self.label_private:
            raise InvalidParameter(
                "There are several labels and no public rows; several labels are learned by teachers, which need "
                f"some: give them with {spell('public')}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        return self.label, *self.further

    def door(self, given: Declared, look: OwnerLook | None) -> Callable[[], PrivateTable]:
        """Return what reads the private table by what is declared, once somebody asks for it."""
        return partial(read_private, self.private, given, memory=self.memory, look=look)

    @property
    def written(self) -> tuple[str, ...]:
        """The columns that are known for categories or text before any row is read."""
        return (*(() if self.schema is None else self.schema.written), *self.choices.categories)


def _same_file(one: Path, other: Address) -> bool:
    """Say whether a file is the private table, or part of it; what cannot be looked at is told when it is read."""
    place = Path(unquote(urlsplit(str(other)).path) if str(other).startswith("file://") else other)
    try:
        return Path(place).resolve() in one.resolve().parents or any(map(one.samefile, FileSource.of(place).paths))
    except (OSError, InvalidData, ValueError):
        return False
