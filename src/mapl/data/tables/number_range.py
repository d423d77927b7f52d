"""Labels that are numbers: the declared public range that they are cut to, and how a cell names a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mapl.data.reading.entries import reals
from mapl.data.reading.numerals import as_floats
from mapl.data.reading.python_cells import arrow_column
from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell, takes
from mapl.types import Floats

END_NAMES = ("lower", "higher")
"""A number of a range lies between two classes, the ends of the range: it is a share of either."""


def ends() -> Classes:
    """Return the ends of a range as classes; made when asked for, since classes bring pandas along."""
    return Classes(END_NAMES)


def advise_range() -> str:
    """Say, at the end of advice on classes, how a label is declared that is a number, where that can be done."""
    if not takes("regression"):
        return ""
    return f"; where the label is a number, declare its range with {spell('regression', 'LOW,HIGH')}"


@dataclass(frozen=True, slots=True)
class NumberRange:
    """From where to where labels go that are numbers; what lies beyond is cut off there.

    Inside, labels are counted from the middle in halves of the range: -1 is the lower end and 1 the higher one.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(
                f"The range of the label is {self.low!r} to {self.high!r}; give two numbers, such as 0 and 100."
            ) from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(high - low)):
            raise InvalidParameter(
                f"The range of the label goes from {low:g} to {high:g}; give two finite numbers, the lower one "
                "first, by what the public knows of such labels and never by looking at private ones."
            )
        if not low < low + (high - low) / 2 < high:
            raise InvalidParameter(f"The range of the label, {low!r} to {high!r}, is too narrow for its numbers.")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read two numbers separated by a comma."""
        try:
            low, high = map(float, text.split(","))
        except ValueError:
            raise InvalidParameter(
                f"The range of the label is {text!r}; give its lower and its higher end separated by a comma, such "
                f"as {spell('regression', '0,100')}."
            ) from None
        return cls(low, high)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    @property
    def half(self) -> float:
        """Half of the range: what 1 stands for."""
        return (self.high - self.low) / 2

    @property
    def middle(self) -> float:
        return self.low + self.half

    def scaled(self, numbers: Floats) -> Floats:
        """Cut numbers to the range and count them from its middle in halves of it, each by itself; NaN stays."""
        cut = np.clip(numbers, self.low, self.high)
        return np.asarray(np.clip((cut - self.middle) / self.half, -1.0, 1.0))

    def restored(self, scaled: Floats) -> Floats:
        """Return what scaled numbers stand for, cut to the range."""
        return np.asarray(np.clip(self.middle + self.half * np.clip(scaled, -1.0, 1.0), self.low, self.high))


def label_numbers(cells: Any, number_range: NumberRange) -> Floats:
    """Return every private label as a scaled number, NaN where one is empty or says no number.

    A label beyond the range, infinities among them, counts as the end that it lies beyond.
    """
    return number_range.scaled(as_floats(reals(arrow_column(cells))))


def public_numbers(cells: Any, *, name: str = "label", what: str = "public rows") -> Floats:
    """Return the labels of PUBLIC rows as they are, or refuse what is no number."""
    found = as_floats(reals(arrow_column(cells)))
    numbers = np.isfinite(found)
    if len(found) and not numbers.any():
        classes = f"; where it is a class, leave out {spell('regression')}" if takes("regression") else ""
        raise InvalidData(
            f"Column {name!r} of the {what} holds no number at all, and the label is a number here: give numbers"
            f"{classes}."
        )
    if not numbers.all():
        raise InvalidData(
            f"Column {name!r} of the {what} has empty or infinite cells, or labels that are no numbers; give "
            "numbers, and leave out rows without a label."
        )
    return found
