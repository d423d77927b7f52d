"""One column: its kind and the public facts about it, declared by hand or drafted from public cells."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from mapl.data.reading.entries import REST
from mapl.data.reading.moments import ORDERS, parse_moments
from mapl.data.reading.numerals import parse_numerals
from mapl.errors import InvalidParameter

KINDS = ("number", "category", "text", "date", "image")


EVEN_BINS = 32
RANGE = "range"
"""In a schema file, the two ends of a number stand for centre, spread and cuts where no more is known."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its kind, and the public facts that an encoder needs about it.

    Parameters
    ----------
    categories
        The values of a category; every other value counts as missing, unless there is a rest.
    rest
        Whether all other values of a category are one value more, which every cell belongs to by itself.
    centre, spread
        What is subtracted from a number, and what it is divided by then.
    cuts
        Where the bins of a number end: up to 31 public quantiles, ascending.
    width
        How many numbers one cell holds: 1, or the number of pixels of an image.
    missing
        Whether public rows lack some values, so that learners should be told where one is missing.
    order
        How a date may be written that does not begin with its year: "day-first" or "month-first".
    blanks
        Words that stand for a number or a date that is missing, such as unknown. What else cannot be read is
        missing too, but refused in public rows.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    centre: float = 0.0
    spread: float = 1.0
    cuts: tuple[float, ...] = ()
    width: int = 1
    missing: bool = False
    rest: bool = False
    order: str = ""
    blanks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.width, int):
            raise InvalidParameter("A column's name must be text, and its width a whole number.")
        if self.kind not in KINDS:
            raise InvalidParameter(
                f"Column {self.name!r} is of kind {self.kind!r}; expected one of {', '.join(KINDS)}."
            )
        if self.kind == "category" and not self.categories:
            raise InvalidParameter(f"Column {self.name!r} is a category without categories; list them.")
        for what, listed in (("categories", self.categories), ("blanks", self.blanks)):
            if not all(isinstance(value, str) and value == value.strip() != "" for value in listed):
                raise InvalidParameter(
                    f"The {what} of column {self.name!r} must be texts in quotation marks, without blanks around "
                    "them."
                )
        if len(set(self.categories)) < len(self.categories):
            raise InvalidParameter(f"Column {self.name!r} lists a category twice; list every category once.")
        self._check_reading()
        if not (math.isfinite(self.centre) and math.isfinite(self.spread) and self.spread > 0):
            raise InvalidParameter(
                f"Column {self.name!r} has centre {self.centre} and spread {self.spread}; both must be finite, "
                "and the spread positive."
            )
        if not all(map(math.isfinite, self.cuts)) or list(self.cuts) != sorted(set(self.cuts)):
            raise InvalidParameter(f"The cuts of column {self.name!r} must be finite numbers in ascending order.")
        if self.width < 1:
            raise InvalidParameter(f"Column {self.name!r} has width {self.width}; it must be at least 1.")

    def _check_reading(self) -> None:
        """Refuse what would say nothing about the cells of this kind, or two things."""
        if not isinstance(self.rest, bool) or (self.rest and (self.kind != "category" or REST in self.categories)):
            raise InvalidParameter(
                f"Column {self.name!r} has the rest {self.rest!r}; it is true or false, for categories only, none "
                f"of which is then called {REST}."
            )
        if self.order and (self.kind != "date" or self.order not in ORDERS):
            raise InvalidParameter(
                f"Column {self.name!r} has the order {self.order!r}; give {' or '.join(ORDERS)} to a date, or "
                "leave it away where dates begin with the year."
            )
        if self.blanks and self.kind not in ("number", "date"):
            raise InvalidParameter(
                f"Column {self.name!r} has blanks, which only numbers and dates have; leave them away."
            )
        if self.blanks and self._says_something(pa.array(self.blanks, pa.large_string())):
            raise InvalidParameter(
                f"Column {self.name!r} has a {self.kind} among its blanks; list words such as unknown, and empty "
                "the cells in which a value stands for none."
            )

    def _says_something(self, words: Any) -> bool:
        read = parse_numerals(words) if self.kind == "number" else parse_moments(words, self.order)
        return bool(read.null_count < len(words))

    @property
    def values(self) -> tuple[str, ...]:
        """What cells of a category become: one of those declared, or the rest where there is one."""
        return (*self.categories, REST) if self.rest else self.categories

    @property
    def is_switch(self) -> bool:
        """Whether public rows show two values, or one."""
        if self.kind == "category":
            return len(self.values) <= 2
        return self.kind == "number" and len(self.cuts) <= 1

    def coarsened(self, n_bins: int) -> Column:
        """Return the column with at most so many bins, cut at some of the same quantiles."""
        if len(self.cuts) < n_bins:
            return self
        kept = np.linspace(0, len(self.cuts) + 1, n_bins + 1)[1:-1].round().astype(int) - 1
        return replace(self, cuts=tuple(self.cuts[place] for place in kept))

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults, as plain values."""
        defaults = {field.name: field.default for field in fields(self) if field.default is not MISSING}
        plain = {key: value for key, value in asdict(self).items() if key not in defaults or value != defaults[key]}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Column:
        """Build a column from plain values, as a schema file or an encoder holds them."""
        tupled: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in plain.items()
        }
        if RANGE in tupled:
            ends, name = tupled.pop(RANGE), str(plain.get("name"))
            if tupled.get("kind") != "number" or {"centre", "spread", "cuts"} & tupled.keys():
                raise InvalidParameter(
                    f"Column {name!r} has a range; that is for numbers, and stands in place of centre, spread and "
                    "cuts. Leave the one or the others away."
                )
            return cls(**_of_range(name, ends), **tupled)
        return cls(**tupled)


def _of_range(name: str, ends: Any) -> dict[str, Any]:
    """Return the facts of a number of which no more is declared than where it lies: evenly between two ends."""
    if not (isinstance(ends, tuple) and len(ends) == 2 and all(isinstance(end, int | float) for end in ends)):
        raise InvalidParameter(f"The range of column {name!r} is {ends!r}; give two numbers, such as [0, 120].")
    low, high = map(float, ends)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidParameter(f"The range of column {name!r} is {low:g} to {high:g}; give the lower end first.")
    cuts = np.linspace(low, high, EVEN_BINS + 1)[1:-1]
    return {"centre": (low + high) / 2, "spread": (high - low) / math.sqrt(12), "cuts": tuple(cuts.tolist())}
