"""The declared classes and how a cell names one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.reading.numerals import as_floats, parse_numerals
from mapl.data.reading.sound_text import sound
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import Array

UNKNOWN = -1
"""The code of a cell that names no class."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The declared classes, and how a cell names one: by its name, or by its value where the name is a number.

    1, 1.0 and "1" are the class "1". A number is a position, counted from 0, only where `by_position` says so and
    no class is named by a number, so that a cell never has two meanings.

    Parameters
    ----------
    values
        What else labels may say, and which class that means (`label_values`); votes and answers are names always.
    """

    names: tuple[str, ...]
    declared: bool = True
    values: tuple[tuple[str, str], ...] = ()
    by_text: dict[str, int] = field(init=False, repr=False, compare=False)
    by_number: dict[float, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = as_floats(parse_numerals(pa.array(self.names, pa.large_string()))).tolist()
        by_number: dict[float, int] = {}
        for code, (name, value) in enumerate(zip(self.names, values, strict=True)):
            if value == value and name.lower() not in ("true", "false"):
                by_number.setdefault(value, code)
        object.__setattr__(self, "by_number", by_number)
        object.__setattr__(self, "by_text", {name: code for code, name in enumerate(self.names)})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read class names separated by commas."""
        names = tuple(name.strip() for name in text.split(","))
        if len(names) < 2 or "" in names or len(set(names)) < len(names):
            raise InvalidParameter(
                f"The classes are {text!r}; give at least two different names separated by commas, such as no,yes."
            )
        return cls(names)

    @classmethod
    def numbered(cls, n_classes: int) -> Self:
        """Return the classes 0, 1, ... of votes whose classes were not declared."""
        return cls(tuple(map(str, range(n_classes))), declared=False)

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, cells: Array, *, by_position: bool = False) -> NDArray[np.int64]:
        """Return the class number of every cell, UNKNOWN where there is none.

        Parameters
        ----------
        by_position
            Whether 0, 1, ... stand for the classes in their order, as in files of votes, where none is a number.
        """
        if cells.dtype.kind in "iuf":
            return self._codes_of_numbers(cells, by_position)
        if cells.dtype.kind in "SU":
            text = pa.array(np.ravel(cells))
            return self.codes_of_text(text, by_position=by_position).reshape(cells.shape)
        raise InvalidData(f"The labels are of type {cells.dtype}; expected class names or whole numbers.")

    def codes_of_text(self, cells: Any, *, by_position: bool = False) -> NDArray[np.int64]:
        """Return the class numbers of a column of text."""
        text = pc.utf8_trim_whitespace(sound(cells))
        place = pc.index_in(text, value_set=pa.array(list(self.by_text), text.type))
        found = np.asarray(pc.fill_null(place, UNKNOWN).to_numpy(zero_copy_only=False), dtype=np.int64)
        if (found != UNKNOWN).all() or not self._numbers(by_position):
            return found
        return np.where(
            found == UNKNOWN, self._codes_of_numbers(as_floats(parse_numerals(text)), by_position), found
        )

    def _numbers(self, by_position: bool) -> dict[float, int]:
        if by_position and not self.by_number:
            return {float(code): code for code in range(len(self.names))}
        return self.by_number

    def _codes_of_numbers(self, cells: Array, by_position: bool) -> NDArray[np.int64]:
        known = self._numbers(by_position)
        if not known:
            return np.full(cells.shape, UNKNOWN, dtype=np.int64)
        numbers = np.array(sorted(known), dtype=np.float64)
        codes = np.array([known[one] for one in numbers.tolist()], dtype=np.int64)
        wide = cells.astype(np.float64)
        place = np.minimum(np.searchsorted(numbers, wide), len(numbers) - 1)
        return np.where(numbers[place] == wide, codes[place], UNKNOWN)
