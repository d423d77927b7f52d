"""The declared classes and how a cell names one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.errors import InvalidData, InvalidParameter

Array = NDArray[Any]

UNKNOWN = -1
"""The code of a cell that names no class."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The declared classes, and how a cell names one: by its name, or by its number 0, 1, ...

    Numbers count as names when some class is named by a number, and as positions otherwise, so that a cell
    never has two meanings.
    """

    names: tuple[str, ...]
    declared: bool = True
    by_text: dict[str, int] = field(init=False, repr=False, compare=False)
    by_number: dict[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbered = {int(name): code for code, name in enumerate(self.names) if _is_whole(name)}
        by_number = numbered or dict(enumerate(range(len(self.names))))
        by_text = {name: code for code, name in enumerate(self.names)}
        for number, code in by_number.items():
            for spelling in (str(number), f"{number}.0"):
                by_text.setdefault(spelling, code)
        object.__setattr__(self, "by_number", by_number)
        object.__setattr__(self, "by_text", by_text)

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

    def codes(self, cells: Array) -> NDArray[np.int64]:
        """Return the class number of every cell, UNKNOWN where there is none."""
        if cells.dtype.kind in "iuf":
            return self._codes_of_numbers(cells)
        if cells.dtype.kind in "SU":
            text = cells if cells.dtype.kind == "U" else np.char.decode(cells, "utf-8")
            return self.codes_of_text(pa.array(np.ravel(text), pa.string())).reshape(cells.shape)
        raise InvalidData(f"The labels are of type {cells.dtype}; expected class names or whole numbers.")

    def codes_of_text(self, cells: Any) -> NDArray[np.int64]:
        """Return the class numbers of a column of text."""
        place = pc.index_in(pc.utf8_trim_whitespace(cells), value_set=pa.array(list(self.by_text), pa.string()))
        codes = np.array(list(self.by_text.values()), dtype=np.int64)
        found = np.asarray(pc.fill_null(place, UNKNOWN).to_numpy(zero_copy_only=False), dtype=np.int64)
        return np.where(found == UNKNOWN, UNKNOWN, codes[found])

    def _codes_of_numbers(self, cells: Array) -> NDArray[np.int64]:
        numbers = np.array(sorted(self.by_number), dtype=np.int64)
        codes = np.array([self.by_number[int(n)] for n in numbers], dtype=np.int64)
        # Clipping keeps infinities and huge numbers convertible; like NaN they then differ from every class.
        low, high = int(numbers[0]) - 1, int(numbers[-1]) + 1
        wide = cells.astype(np.float64)
        whole = np.clip(np.nan_to_num(wide, nan=low), low, high).astype(np.int64)
        place = np.minimum(np.searchsorted(numbers, whole), len(numbers) - 1)
        return np.where((numbers[place] == whole) & (wide == whole), codes[place], UNKNOWN)


def _is_whole(name: str) -> bool:
    return name.isdecimal() and name.isascii() and len(name) < 16
