"""One column: its kind and its public statistics, declared by hand or drafted from public cells."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.entries import TRUTH, is_date, is_list, is_text, numbers, pixels, texts
from mapl.errors import InvalidData, InvalidParameter

KINDS = ("number", "category", "text", "date", "image")

MOST_CATEGORIES = 100
MOST_DECLARED_CATEGORIES = 1000
WORDS_OF_FREE_TEXT = 5
N_BINS = 32


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its kind, and the public facts that an encoder needs about it.

    Parameters
    ----------
    categories
        The values of a category; every other value counts as missing.
    centre, spread
        What is subtracted from a number, and what it is divided by then.
    cuts
        Where the bins of a number end: up to 31 public quantiles, ascending.
    width
        How many numbers one cell holds: 1, or the number of pixels of an image.
    missing
        Whether public rows lack some values, so that learners should be told where one is missing.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    centre: float = 0.0
    spread: float = 1.0
    cuts: tuple[float, ...] = ()
    width: int = 1
    missing: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.width, int):
            raise InvalidParameter("A column's name must be text, and its width a whole number.")
        if self.kind not in KINDS:
            raise InvalidParameter(
                f"Column {self.name!r} is of kind {self.kind!r}; expected one of {', '.join(KINDS)}."
            )
        if self.kind == "category" and not self.categories:
            raise InvalidParameter(f"Column {self.name!r} is a category without categories; list them.")
        if not all(isinstance(value, str) and value == value.strip() != "" for value in self.categories):
            raise InvalidParameter(
                f"The categories of column {self.name!r} must be texts in quotation marks, without blanks around "
                "them."
            )
        if len(set(self.categories)) < len(self.categories):
            raise InvalidParameter(f"Column {self.name!r} lists a category twice; list every category once.")
        if not (math.isfinite(self.centre) and math.isfinite(self.spread) and self.spread > 0):
            raise InvalidParameter(
                f"Column {self.name!r} has centre {self.centre} and spread {self.spread}; both must be finite, "
                "and the spread positive."
            )
        if not all(map(math.isfinite, self.cuts)) or list(self.cuts) != sorted(set(self.cuts)):
            raise InvalidParameter(f"The cuts of column {self.name!r} must be finite numbers in ascending order.")
        if self.width < 1:
            raise InvalidParameter(f"Column {self.name!r} has width {self.width}; it must be at least 1.")

    @property
    def is_switch(self) -> bool:
        """Whether public rows show two values, or one."""
        if self.kind == "category":
            return len(self.categories) <= 2
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
        return cls(**tupled)


def drafted(name: str, cells: Any) -> Column:
    """Say what a public column seems to be."""
    kind = cells.type
    if pa.types.is_null(kind) or cells.null_count == len(cells):
        raise InvalidData(f"The public column {name!r} is empty; remove it from public and private rows.")
    if is_list(kind):
        return _image(name, cells)
    if pa.types.is_dictionary(kind) or is_text(kind) or pa.types.is_boolean(kind):
        return _category_or_text(name, cells)
    if is_date(kind):
        return _number(name, numbers(cells), "date")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _number(name, numbers(cells), "number")
    raise InvalidData(
        f"The public column {name!r} is of type {kind}; expected numbers, text, dates or lists of numbers of equal "
        "length. Convert it, or remove it from public and private rows."
    )


def _category_or_text(name: str, cells: Any) -> Column:
    spoken = texts(cells)
    missing = bool(spoken.null_count)
    if pa.types.is_boolean(cells.type):
        return Column(name, "category", TRUTH, missing=missing)
    found = sorted(pc.unique(spoken).drop_null().to_pylist())
    if not found:
        raise InvalidData(f"The public column {name!r} is empty; remove it from public and private rows.")
    n_words = sum(len(value.split()) for value in found) / len(found)
    declared = pa.types.is_dictionary(cells.type)
    most = MOST_DECLARED_CATEGORIES if declared else MOST_CATEGORIES
    if len(found) > most or (n_words >= WORDS_OF_FREE_TEXT and not declared):
        return Column(name, "text", missing=missing)
    return Column(name, "category", tuple(found), missing=missing)


def _number(name: str, values: NDArray[Any], kind: str) -> Column:
    """Describe public numbers; two different ones become 0 and 1, like the column of a category."""
    wide = np.asarray(values, dtype=np.float64)
    known = wide[np.isfinite(wide)]
    missing = bool(np.isnan(wide).any())
    different, counts = np.unique(known, return_counts=True)
    if len(different) < 2:
        return Column(name, kind, centre=float(different[0]) if len(different) else 0.0, missing=missing)
    if len(different) == 2:
        low, high = map(float, different)
        return Column(name, kind, centre=low, spread=_positive(high - low), missing=missing)
    # Half the spread of the ends bounds the deviation, and scaling by it keeps the squares finite.
    scale = _positive(float(different[-1] / 2 - different[0] / 2))
    centre = float(np.mean(known / scale) * scale)
    spread = _positive(float(np.std(known / scale) * scale))
    return Column(name, kind, centre=centre, spread=spread, cuts=_cuts(different, counts), missing=missing)


def _cuts(different: NDArray[np.float64], counts: NDArray[Any]) -> tuple[float, ...]:
    """Cut halfway between neighbouring values, at every gap or nearest to the quantiles."""
    if len(different) <= N_BINS:
        gaps = np.arange(len(different) - 1)
    else:
        for _ in range(4):  # a value that most rows share takes one bin, and leaves the others to the rest
            counts = np.minimum(counts, counts.sum() / N_BINS)
        below = np.cumsum(counts)[:-1] / counts.sum()
        wanted = np.arange(1, N_BINS) / N_BINS
        gaps = np.unique(np.minimum(np.searchsorted(below, wanted), len(below) - 1))
    middles = different[gaps] / 2 + different[gaps + 1] / 2
    return tuple(np.unique(middles).tolist())


def _image(name: str, cells: Any) -> Column:
    lengths = pc.unique(pc.list_value_length(cells)).drop_null().to_pylist()
    if len(lengths) != 1 or lengths[0] < 1:
        raise InvalidData(
            f"The lists of the public column {name!r} have different lengths; images need as many numbers each."
        )
    matrix = pixels(cells, lengths[0])
    return Column(
        name,
        "image",
        centre=float(np.nanmean(matrix, dtype=np.float64)),
        spread=_positive(float(np.nanstd(matrix, dtype=np.float64))),
        width=lengths[0],
    )


def drafted_from_matrix(rows: Any) -> tuple[Column, ...]:
    """Describe the columns of a public matrix, which are called x0, x1, ..."""
    if isinstance(rows, np.ndarray):
        return tuple(_number(f"x{j}", rows[:, j], "number") for j in range(rows.shape[1]))
    # Zeros stay zeros, so that a sparse matrix stays one; its columns are scaled into [-1, 1].
    largest = np.zeros(rows.shape[1])
    np.maximum.at(largest, rows.indices, np.nan_to_num(np.abs(rows.data.astype(np.float64)), posinf=0.0))
    return tuple(Column(f"x{j}", "number", spread=_positive(float(top))) for j, top in enumerate(largest))


def _positive(spread: float) -> float:
    return spread if spread > 0 and math.isfinite(spread) else 1.0
