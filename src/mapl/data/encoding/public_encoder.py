"""An encoder for rows that form groups, images and rows of categories, fitted on public rows.

Images become features by fixed filters (`images`), categories by their declared values (`encoder`); features become
principal components of public rows (`projection`), and components become spectral coordinates of the public
neighbour graph (`spectral`). Everything that was fitted saw public rows and no label. Each row is then encoded by
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.images import Lens, side_of
from mapl.data.encoding.projection import Projection
from mapl.data.encoding.spectral import Spectral
from mapl.data.reading.entries import legible, pixels
from mapl.data.tables.column import Column
from mapl.data.tables.rows import (
    Rows,
    as_arrow,
    block_of,
    check_rows,
    is_matrix,
    is_sparse,
    n_rows,
    native,
    select,
    take,
)
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData
from mapl.types import Singles

N_SPECTRAL, N_PRINCIPAL = 60, 300
NARROW = 30
"""How many spectral coordinates suit shards of some tens of rows."""

GRAPH_DIM = 100
"""How many components decide which public rows are neighbours."""

MOST_FITTED, MOST_LOOKED_AT = 10_000, 1000
"""How many public rows the maps are fitted on, and how many tell how bright images are."""

ROWS_AT_ONCE = 500


class PublicEncoder(Encoder):
    """Encode rows: spectral coordinates, then principal components, then the columns beside an image.

    `fit_public` makes one; `fit` learns nothing and returns the encoder as it is, like that of `Encoder`. Its
    parameters are plain values and arrays, so that a model file can hold it.

    Parameters
    ----------
    columns
        The columns as plain dictionaries (`Column.to_dict`): one image and maybe others, or categories only.
    lens
        The fields of a `Lens`; nothing where there is no image.
    maps
        The arrays of a `Projection` and of a `Spectral`.
    n_spectral, n_principal
        How many spectral coordinates and principal components are given out, at most.
    bins
        Whether numbers beside the image get one more column per public bin.
    """

    def __init__(
        self,
        columns: list[dict[str, Any]],
        lens: dict[str, Any],
        maps: dict[str, Any],
        n_spectral: int = N_SPECTRAL,
        n_principal: int = N_PRINCIPAL,
        bins: bool = False,
    ) -> None:
        super().__init__(columns, bins=bins)
        self.lens = lens
        self.maps = maps
        self.n_spectral = n_spectral
        self.n_principal = n_principal

    @classmethod
    def fit_public(cls, rows: Rows, schema: Schema) -> Self:
        """Fit on PUBLIC rows; of very many a fixed choice is taken."""
        rows = check_rows(rows, "public rows")
        schema.checked_against(rows, "public rows")
        if n_rows(rows) > MOST_FITTED:
            rows = take(rows, np.sort(np.random.default_rng(0).permutation(n_rows(rows))[:MOST_FITTED]))
        columns = [declared.to_dict() for declared in schema.columns]
        unfitted = cls(columns, _lens_of(rows, schema), {})
        features = np.concatenate([unfitted._features(block) for _, block in _blocks(rows)])
        projection = Projection.fit(features, dim=N_PRINCIPAL)
        points = [projection(features[start : start + n_rows(block)]) for start, block in _blocks(rows)]
        spectral = Spectral.fit(np.concatenate(points)[:, :GRAPH_DIM], dim=N_SPECTRAL)
        return cls(
            columns,
            unfitted.lens,
            {
                "mean": projection.mean,
                "axes": projection.axes,
                **{name: getattr(spectral, name) for name in Spectral.__slots__},
            },
            min(N_SPECTRAL, spectral.dim),
            min(N_PRINCIPAL, projection.dim),
        )

    def narrowed(self) -> Self:
        """Return an encoder for small shards: a few spectral coordinates, or components where there are none."""
        narrow = copy(self)
        narrow.n_spectral = min(NARROW, self.n_spectral)
        narrow.n_principal = 0 if self.n_spectral else min(NARROW, self.n_principal)
        narrow.maps = (
            self.maps
            | {  # workers get no more than they need
                "axes": self.maps["axes"][:, :GRAPH_DIM],
                "walk": self.maps["walk"][:, : narrow.n_spectral],
                "pace": self.maps["pace"][: narrow.n_spectral],
            }
        )
        return narrow

    def components(self) -> Self:
        """Return an encoder for distances: principal components only, as many as decide about neighbours."""
        plain = copy(self)
        plain.n_spectral, plain.n_principal = 0, min(GRAPH_DIM, self.n_principal)
        plain.maps = self.maps | {"axes": self.maps["axes"][:, :GRAPH_DIM]}
        return plain

    def transform(self, X: Rows) -> Any:
        """Return the rows as a float32 matrix, sparse where there is text beside the image."""
        rows = check_rows(X, "rows") if isinstance(X, (list, tuple)) else X
        self._layout().check(rows)
        spectral, principal = self._spectral(), self._projection()
        encoded = np.empty((n_rows(rows), self.n_spectral + self.n_principal), np.float32)
        for start, block in _blocks(rows):
            points = principal(self._features(block))
            part = encoded[start : start + len(points)]
            if self.n_spectral:
                near = np.ascontiguousarray(points[:, :GRAPH_DIM])
                part[:, : self.n_spectral] = spectral(near)[:, : self.n_spectral]
            part[:, self.n_spectral :] = points[:, : self.n_principal]
        others = self._others()
        if not others.columns:
            return encoded
        beside = others.transform(select(rows, [one["name"] for one in others.columns]))
        if is_sparse(beside):
            return sp.hstack([sp.csr_matrix(encoded), beside], format="csr", dtype=np.float32)
        return np.hstack([encoded, beside])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return what each column of the result is."""
        name = _image_of(self._layout().columns).name if self.lens else "row"
        own = [f"{name} spectral {j}" for j in range(self.n_spectral)]
        own += [f"{name} component {j}" for j in range(self.n_principal)]
        others = self._others()
        return np.array([*own, *(others.get_feature_names_out() if others.columns else ())], dtype=object)

    def __sklearn_clone__(self) -> Self:
        return self  # there is nothing to forget, and much to copy

    def _features(self, rows: Rows) -> Singles:
        """Return what the maps start from: features of the image, or categories as zeros and ones."""
        if self.lens:
            return Lens(**self.lens).features(_pixels(rows, _image_of(self._layout().columns)))
        encoded: Singles = Encoder(self.columns).transform(rows)
        return encoded

    def _projection(self) -> Projection:
        return Projection(self.maps["mean"], self.maps["axes"])

    def _spectral(self) -> Spectral:
        return Spectral(**{name: self.maps[name] for name in Spectral.__slots__})

    def _others(self) -> Encoder:
        beside = [plain for plain in self.columns if plain["kind"] != "image"] if self.lens else []
        return Encoder(beside, bins=self.bins)


def _lens_of(rows: Rows, schema: Schema) -> dict[str, Any]:
    if all(declared.kind == "category" for declared in schema.columns):
        return {}
    image = _image_of(schema.columns)
    some = np.linspace(0, n_rows(rows) - 1, min(n_rows(rows), MOST_LOOKED_AT)).astype(np.int64)
    lens = Lens.of(_pixels(take(rows, some), image), image.name)
    return {name: getattr(lens, name) for name in Lens.__slots__}


def _image_of(columns: tuple[Column, ...]) -> Column:
    images = [declared for declared in columns if declared.kind == "image"]
    if len(images) != 1:
        raise InvalidData(
            f"There are {len(images)} columns of images; expected one. Keep the one that tells most, or join the "
            "images of a row into one square."
        )
    side_of(images[0].width, images[0].name)
    return images[0]


def _blocks(rows: Rows) -> Iterator[tuple[int, Rows]]:
    for start in range(0, n_rows(rows), ROWS_AT_ONCE):
        yield start, block_of(rows, start, min(start + ROWS_AT_ONCE, n_rows(rows)))


def _pixels(rows: Rows, image: Column) -> NDArray[Any]:
    """Return the images of some rows, one flattened image per row; a matrix holds nothing else."""
    if is_matrix(rows):
        if rows.shape[1] != image.width:
            raise InvalidData(
                f"The rows are a matrix with {rows.shape[1]} columns and the images have {image.width} pixels; "
                "give a table with a column of images, or a matrix of pixels only."
            )
        return np.asarray(native(rows).toarray() if is_sparse(rows) else rows)
    with legible(image.name, image.kind, "rows"):
        return pixels(as_arrow(select(rows, [image.name])).column(0), image.width)
