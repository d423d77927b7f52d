"""A case: what is known in memory when a run begins. It has no paths and no terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mapl.data.reading.entries import numbers
from mapl.data.tables.classes import Classes
from mapl.data.tables.column_choices import NO_CHOICES, ColumnChoices
from mapl.data.tables.made_up_rows import made_up_rows, refuse_undeclared
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import Rows, column
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.types import Silent

if TYPE_CHECKING:
    from mapl.noise import Coins

N_MADE_UP = 3000


@dataclass(frozen=True, slots=True)
class Declared:
    """What a user declares about the tables: their columns, the label and its classes, the privacy unit.

    ``no_unit`` says that every record stands for itself, whatever public columns look like; ``suspects`` names
    those that look like ids. ``notices`` say how doubtful columns were drafted, ``choices`` what was said about
    single columns. ``number_range`` is there where the label is a number; the classes are its ends then.
    """

    schema: Schema
    label: str
    classes: Classes
    unit: str | None
    no_unit: bool = False
    suspects: str | None = None
    notices: tuple[str, ...] = ()
    choices: ColumnChoices = NO_CHOICES
    number_range: NumberRange | None = None
    further: tuple[str, ...] = ()
    """The labels beside the first, where rows have several."""

    @property
    def labels(self) -> tuple[str, ...]:
        return self.label, *self.further


@dataclass(frozen=True, slots=True)
class PublicRows:
    """Public rows without their labels; where they bring labels along, these only serve to tell accuracies.

    ``keys`` is a column to tell the rows apart by, where one was asked for. ``made_up`` says that there are no
    public rows, and that these were made up of what is declared about the columns.
    """

    rows: Rows
    truth: NDArray[Any] | None
    keys: Any = None
    made_up: bool = False

    @classmethod
    def of_schema(cls, schema: Schema, *, matrix: bool = False) -> Self:
        """Make rows up where there are none: the same ones for the same schema, as a table or as a matrix."""
        refuse_undeclared(schema)
        rows = made_up_rows(schema, N_MADE_UP, np.random.default_rng(0))
        if matrix:
            rows = np.column_stack([numbers(column(rows, name)) for name in schema.names])
        return cls(rows, None, made_up=True)


@dataclass(frozen=True, slots=True, repr=False)
class Case(Silent):
    """Everything that a run works with, whichever face it was asked for by and whichever way it goes.

    Parameters
    ----------
    private
        Returns the private table. It is read only when everything else has been found in order.
    key, coins
        Which teacher sees whom, and the randomness that protects people.
    """

    declared: Declared
    public: PublicRows
    private: Callable[[], PrivateTable]
    key: ShardKey
    coins: Coins
