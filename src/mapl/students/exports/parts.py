"""What an encoder does, written down column by column, so that others can do it without mapl."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.layout import CLIP
from mapl.data.tables.column import Column
from mapl.errors import InvalidParameter

NUMBER, MISSING, CATEGORIES, BINS, RAW = "number", "missing", "categories", "bins", "raw"


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """Encoded columns that come from one column of the rows; all parts in their order are the encoded row.

    Parameters
    ----------
    place
        Which of the student's columns it is, counted from 0.
    how
        A number is standardised and cut off, a missing one is 0; missing is 1 where there is no number;
        categories and bins have a 1 at the place of the cell, and zeros where it has none; raw is the number.
    """

    column: str
    place: int
    how: str
    centre: float = 0.0
    spread: float = 1.0
    values: tuple[str, ...] = ()
    rest: bool = False
    cuts: tuple[float, ...] = ()

    def to_record(self) -> dict[str, Any]:
        told: dict[str, Any] = {"column": self.column, "as": self.how}
        if self.how == NUMBER:
            told |= {"centre": self.centre, "spread": self.spread, "limit": CLIP}
        if self.how == CATEGORIES:
            told |= {"values": list(self.values), "rest": self.rest}
        return told | ({"cuts": list(self.cuts)} if self.how == BINS else {})

    @property
    def width(self) -> int:
        if self.how == CATEGORIES:
            return len(self.values) + self.rest
        return len(self.cuts) + 1 if self.how == BINS else 1


def parts_of(encoder: Encoder) -> tuple[EncodedPart, ...]:
    """Return the parts of an encoder of numbers, dates and categories, or refuse others in words."""
    columns = [Column.from_dict(plain) for plain in encoder.columns]
    for kind, why in (
        ("image", "images are straightened and filtered by programs of mapl's own"),
        ("text", "words are hashed by a program of scikit-learn's own"),
    ):
        found = [one.name for one in columns if one.kind == kind]
        if found:
            raise InvalidParameter(
                f"The student reads the column {found[0]!r} of kind {kind}; {why}, which are no plain numbers. "
                "Keep it as student.skops and use it with mapl predict, or learn one without this column."
            )
    return tuple(_laid_out(columns, bool(encoder.bins)))


def _laid_out(columns: list[Column], bins: bool) -> Iterator[EncodedPart]:
    numbers = [(j, one) for j, one in enumerate(columns) if one.kind in ("number", "date")]
    yield from (EncodedPart(one.name, j, NUMBER, centre=one.centre, spread=one.spread) for j, one in numbers)
    yield from (EncodedPart(one.name, j, MISSING) for j, one in numbers if one.missing)
    for j, one in enumerate(columns):
        if one.kind == "category":
            yield EncodedPart(one.name, j, CATEGORIES, values=one.categories, rest=one.rest)
    if bins:
        yield from (EncodedPart(one.name, j, BINS, cuts=one.cuts) for j, one in numbers if one.cuts)


def raw_parts(columns: tuple[Column, ...]) -> tuple[EncodedPart, ...]:
    """Return the parts of rows that a learner takes as they are, which must be numbers."""
    if any(one.kind != "number" or one.width != 1 for one in columns):
        raise InvalidParameter(
            "The student reads columns of its own choice that are not all numbers; export students of mapl's "
            "presets, or save the estimator itself with skops."
        )
    return tuple(EncodedPart(one.name, j, RAW) for j, one in enumerate(columns))
