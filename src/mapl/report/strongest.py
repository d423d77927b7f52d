"""What the student of a run by moments goes by: its strongest columns and words, and how sure each of them is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData
from mapl.students.moments.strengths import COLUMN, FOR, NOISE, UNITS, UNITS_NOISE, WORD

MOST_LINES = 20
"""With two classes a line says it for both; more lines are in the file."""

MOST_PER_CLASS, MOST_CLASSES = 5, 10
"""With more classes each has a list of its own."""

INDISTINCT = 2.0
"""An effect within this many standard deviations of zero cannot be told from none."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One column or word: its effect on one class, and the deviation of the noise in it, None where not told."""

    name: str
    effect: float
    noise: float | None

    @property
    def sure(self) -> bool:
        """Whether noise alone would hardly make such an effect."""
        return self.noise is not None and abs(self.effect) > INDISTINCT * self.noise


@dataclass(frozen=True, slots=True)
class Listing:
    """The strongest lines for one class, the last of two or one of more, and how far a picture has to reach."""

    class_name: str
    lines: tuple[Effect, ...]
    reach: float


@dataclass(frozen=True, slots=True)
class Strongest:
    """Columns and words of the public table of weights, strongest first."""

    columns: tuple[Listing, ...]
    words: tuple[Listing, ...]
    n_columns: int
    n_words: int
    n_sure: int
    """Columns whose effect on some class cannot be put down to noise."""
    n_classes: int
    units: float | None
    units_noise: float | None

    @classmethod
    def of(cls, table: pa.Table, classes: Classes) -> Self:
        """Read the table of weights that a run published."""
        expected = ["what", "name", *(f"{FOR}{name}" for name in classes.names), NOISE]
        for name in expected:
            if table.column_names.count(name) != 1:
                raise InvalidData(
                    f"The table of weights has no column {name!r}; give the weights.parquet that mapl wrote."
                )
        kinds, names = (np.array(table[name].to_pylist(), dtype=object) for name in ("what", "name"))
        effects = np.column_stack([_numbers(table, f"{FOR}{name}") for name in classes.names])
        noise = _numbers(table, NOISE)
        column, word = kinds == COLUMN, kinds == WORD
        strengths = np.abs(effects[column]).max(axis=1, initial=0.0)
        kept = table.schema.metadata or {}
        return cls(
            columns=_listings(names[column], effects[column], noise[column], classes),
            words=_listings(names[word], effects[word], noise[word], classes),
            n_columns=int(column.sum()),
            n_words=int(word.sum()),
            n_sure=int((strengths > INDISTINCT * noise[column]).sum()),
            n_classes=len(classes),
            units=_kept(kept, UNITS),
            units_noise=_kept(kept, UNITS_NOISE),
        )

    @property
    def signed(self) -> bool:
        """Whether there are two classes, so that whatever speaks against one speaks for the other."""
        return self.n_classes == 2


def _listings(
    names: NDArray[np.object_], effects: NDArray[np.float64], noise: NDArray[np.float64], classes: Classes
) -> tuple[Listing, ...]:
    """List the strongest lines: once where two classes mirror each other, for each of more classes otherwise."""
    if not len(names):
        return ()
    two = len(classes) == 2
    codes = [1] if two else range(min(len(classes), MOST_CLASSES))
    chosen = {
        code: np.argsort(-np.abs(effects[:, code]), kind="stable")[: MOST_LINES if two else MOST_PER_CLASS]
        for code in codes
    }
    told = np.where(np.isfinite(noise), noise, 0.0)
    # One scale for all listings, so that classes can be compared.
    reaches = [(np.abs(effects[rows, code]) + INDISTINCT * told[rows]).max() for code, rows in chosen.items()]
    return tuple(
        Listing(
            classes.names[code],
            tuple(
                Effect(str(names[i]), float(effects[i, code]), float(noise[i]) if np.isfinite(noise[i]) else None)
                for i in rows
            ),
            float(max(reaches)) or 1.0,
        )
        for code, rows in chosen.items()
    )


def _numbers(table: pa.Table, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidData(
            f"Column {name!r} of the table of weights holds no numbers; give the weights.parquet that mapl wrote."
        ) from None


def _kept(metadata: dict[bytes, bytes], name: bytes) -> float | None:
    """Read a figure that belongs to no line; files of earlier versions have none."""
    try:
        return float(metadata[name])
    except (KeyError, ValueError):
        return None
