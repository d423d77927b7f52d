"""A student for images: a small convolutional network, trained with torch and used without it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.images import Lens
from mapl.data.reading.entries import legible
from mapl.data.reading.entries import pixels as pixels_of
from mapl.data.tables.rows import as_arrow, block_of, check_rows, is_matrix, is_sparse, n_rows, names, take
from mapl.errors import InvalidData, InvalidParameter
from mapl.students.images.network import LAYERS, LEAST_SIDE, MOST_FILTERS, scores
from mapl.students.images.network_training import Course, most_shown, train_network
from mapl.types import Singles

WIDTHS = (16, 32, 64)
COLOURS = 3
VIEWS = ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))
"""A row and a column at which the image begins within a margin of one pixel."""

MOST_LOOKED_AT, ROWS_AT_ONCE = 1000, 500


class ConvolutionStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A convolutional network for rows that are one small square image each, grey or in three colours.

    While it learns, images are turned, stretched, slanted and shifted a little every time, and never mirrored: a
    letter would become another. Figures on a plain ground are straightened first (`encoding.images`), and images
    of more than 32 x 32 pixels are shrunk. Predictions are means over five views, shifted by a pixel.

    Training is limited to about half a minute of one core, whatever the number of images, and follows from the data
    and `random_state`. What was trained is a list of numpy arrays; torch is needed by `fit` alone.

    Parameters
    ----------
    widths
        How many filters each of the three layers has.
    random_state
        Steers the first weights, the order of images and how they are moved; None for a fresh start.

    Notes
    -----
    An image is a list of numbers, row by row, the three colours of a pixel side by side. A table must have one
    column of such lists; a matrix holds an image per row; arrays of three or four dimensions are taken as well.
    """

    takes_any_rows: ClassVar[bool] = True

    def __init__(self, widths: tuple[int, ...] = WIDTHS, random_state: Any = None) -> None:
        self.widths = widths
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on images and their labels.

        Raises
        ------
        InvalidParameter
            If torch is not installed, or the widths are none.
        InvalidData
            If the rows are no square images.
        """
        widths = _checked_widths(self.widths)
        rows = _rows(X)
        self.classes_, places = np.unique(y, return_inverse=True)
        self.n_pixels_ = _n_pixels(rows)
        self.channels_ = _channels(self.n_pixels_)
        weights = np.ones(n_rows(rows)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        coins = check_random_state(self.random_state)
        self.lens_ = self._lens(take(rows, _spread(n_rows(rows), MOST_LOOKED_AT)))
        counted = np.flatnonzero(weights > 0)
        if not len(counted):
            raise InvalidParameter("All weights are zero; give at least one image a positive weight.")
        counted = np.sort(coins.permutation(counted)[: most_shown(self._side, self.channels_, widths)])
        self.arrays_ = train_network(
            Course(
                images=np.concatenate(list(self._seen(take(rows, counted)))),
                codes=places.astype(np.int64)[counted],
                weights=np.asarray(weights[counted] / weights[counted].mean(), np.float32),
                n_classes=len(self.classes_),
                widths=widths,
                plain=Lens(**self.lens_).on_plain_ground,
                seed=int(coins.randint(2**31 - 1)),
            )
        )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each image."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a probability per image and class, the mean over all views of the image."""
        check_is_fitted(self)
        return np.concatenate([self._shares(images) for images in self._seen(_rows(X))])

    def _shares(self, images: Singles) -> NDArray[np.float64]:
        side = images.shape[1]
        wide = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
        views = (wide[:, top : top + side, left : left + side] for top, left in VIEWS)
        shares = [softmax(scores(view, self.arrays_).astype(np.float64), axis=1) for view in views]
        return np.asarray(np.mean(shares, axis=0))

    def _lens(self, rows: Any) -> dict[str, Any]:
        """Return how images are scaled, and figures on a plain ground straightened; colours stay where they are."""
        planes = self._planes(rows)
        lens = Lens.of(planes.reshape(-1, planes.shape[-1]), "images")
        fields = {name: getattr(lens, name) for name in Lens.__slots__}
        return fields if self.channels_ == 1 else fields | {"ground": 0.5}

    @property
    def _side(self) -> int:
        return Lens(**self.lens_).shrunk_side

    def _seen(self, rows: Any) -> Iterator[Singles]:
        """Yield images as the network sees them, some at a time: indexed by image, row, column, channel."""
        lens, side = Lens(**self.lens_), self._side
        for start in range(0, n_rows(rows), ROWS_AT_ONCE):
            planes = self._planes(block_of(rows, start, min(start + ROWS_AT_ONCE, n_rows(rows))))
            figures = lens.figures(planes.reshape(-1, planes.shape[-1])).reshape(-1, self.channels_, side, side)
            yield np.ascontiguousarray(figures.transpose(0, 2, 3, 1))

    def _planes(self, rows: Any) -> NDArray[Any]:
        """Return the pixels of some rows, indexed by image, channel, place."""
        if is_matrix(rows):
            found = np.asarray(rows.toarray() if is_sparse(rows) else rows)
        else:
            (name,) = names(rows) or ()
            with legible(name, "image", "rows"):
                found = pixels_of(as_arrow(rows).column(0), self.n_pixels_)
        if found.shape[1] != self.n_pixels_:
            raise InvalidData(
                f"The images have {found.shape[1]} numbers each; the student was trained on {self.n_pixels_}. Give "
                "images of the same size."
            )
        return found.reshape(len(found), -1, self.channels_).transpose(0, 2, 1)


def _rows(given: Any) -> Any:
    if isinstance(given, np.ndarray) and given.ndim in (3, 4):
        given = given.reshape(len(given), -1)
    rows = check_rows(given, "images")
    columns = names(rows)
    if columns is not None and len(columns) != 1:
        raise InvalidData(
            f"The rows have {len(columns)} columns; a convolutional network sees one column of images. Leave out "
            "the others, or take another student, for example auto."
        )
    return rows


def _n_pixels(rows: Any) -> int:
    if is_matrix(rows):
        return int(rows.shape[1])
    (column,) = draft_schema(rows).columns
    if column.kind != "image":
        raise InvalidData(
            f"Column {column.name!r} is of kind {column.kind!r}; a convolutional network needs the kind 'image', a "
            "list of numbers per row. Take another student, for example auto."
        )
    return column.width


def _channels(n_pixels: int) -> int:
    """Return how many numbers a pixel has; no square number is three times another."""
    for channels in (1, COLOURS):
        side = math.isqrt(n_pixels // channels)
        if channels * side**2 == n_pixels and side >= LEAST_SIDE:
            return channels
    raise InvalidData(
        f"The images have {n_pixels} numbers each; expected squares of at least {LEAST_SIDE} x {LEAST_SIDE} pixels "
        "with one number or three per pixel, such as 784 = 28 x 28 or 3072 = 32 x 32 x 3. Pad them to squares."
    )


def _spread(n: int, most: int) -> NDArray[np.int64]:
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def _checked_widths(widths: Any) -> tuple[int, ...]:
    given = tuple(widths)
    if len(given) != len(LAYERS) or not all(type(width) is int and 1 <= width <= MOST_FILTERS for width in given):
        raise InvalidParameter(
            f"widths is {widths!r}; give {len(LAYERS)} whole numbers from 1 to {MOST_FILTERS}, the filters of each "
            "layer."
        )
    return given
