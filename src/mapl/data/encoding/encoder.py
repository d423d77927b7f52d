"""From rows of any kind to numbers, by public facts alone: nothing is fitted, so nothing private can leak in."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer

from mapl.data.encoding.encoded_rows import EncodedRows
from mapl.data.encoding.layout import TEXT_WIDTH, RowLayout
from mapl.data.reading.entries import legible, texts
from mapl.data.tables.rows import Rows, check_rows, column, is_sparse
from mapl.data.tables.schema import Schema


class Encoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode rows as 32-bit numbers by what the schema says about their columns.

    Numbers and dates are standardised by the public centre and spread and clipped; a missing one is 0, and a column
    of its own tells so where public rows lack some too. Categories have one column per declared value; any other
    value, like a missing one, is all zeros, unless a rest is declared: all others then share one more column. Text
    is hashed into word counts, and the result is then sparse. Images are standardised pixels.

    There is nothing to fit: `fit` returns the encoder as it is.

    Parameters
    ----------
    columns
        The columns as plain dictionaries (`Column.to_dict`), so that a model file holds plain values only.
    bins
        Whether numbers get one more column per public bin, which lets linear models bend.
    dense
        Whether the result is never sparse, for models that take no sparse matrix.
    """

    dense = False  # for encoders in files that are older than the parameter

    def __init__(self, columns: list[dict[str, Any]], bins: bool = False, dense: bool = False) -> None:
        self.columns = columns
        self.bins = bins
        self.dense = dense

    @classmethod
    def of(cls, schema: Schema, *, bins: bool = False) -> Self:
        """Return the encoder of a schema's columns."""
        return cls([declared.to_dict() for declared in schema.columns], bins=bins)

    def fit(self, X: Rows, y: Any = None) -> Self:
        """Return the encoder itself; it learns nothing from rows."""
        return self

    def transform(self, X: Rows) -> Any:
        """Return the rows as a float32 matrix, sparse where there is text or where the rows are sparse."""
        layout = self._layout()
        rows = check_rows(X, "rows") if isinstance(X, (list, tuple)) else X
        layout.check(rows)
        if is_sparse(rows) and layout.keeps_zeros:
            return layout.scaled(rows).toarray() if self.dense else layout.scaled(rows)
        dense = layout.encode(rows)
        if not layout.texts:
            return dense
        hashed = [_hashed(column(rows, declared.name), declared.name) for declared in layout.texts]
        return sp.hstack([sp.csr_matrix(dense), *hashed], format="csr", dtype=np.float32)

    def encode(self, rows: Rows) -> EncodedRows:
        """Return what `transform` returns, without the zeros of wide groups where it knows them."""
        layout = self._layout()
        if type(self).transform is not Encoder.transform or layout.texts or is_sparse(rows):
            return EncodedRows.of(self.transform(rows))
        layout.check(rows)
        return layout.encode_shortly(rows)

    @property
    def groups(self) -> tuple[slice, ...]:
        """Where in the result the values of each category stand, and the bins of each number."""
        return self._layout().groups if type(self) is Encoder else ()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return what each column of the result is."""
        return np.array(list(self._layout().names()), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _layout(self) -> RowLayout:
        return RowLayout.of(self.columns, bins=bool(self.bins))


def _hashed(cells: Any, name: str) -> Any:
    with legible(name, "text", "rows"):
        written = texts(cells).fill_null("").to_pylist()
    # Two words count as well as one; signs would let words cancel each other, and naive Bayes needs counts.
    return HashingVectorizer(
        n_features=TEXT_WIDTH, ngram_range=(1, 2), alternate_sign=False, dtype=np.float32
    ).transform(written)
