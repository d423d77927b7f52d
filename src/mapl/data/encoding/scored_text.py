"""An encoder for rows with text: how much the words of a row speak for each class, beside its other columns.

How much a word speaks for a class is learned elsewhere, from released sums; here it is a public array.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from mapl.data.encoding.encoded_rows import EncodedRows
from mapl.data.encoding.encoder import Encoder
from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.words import LETTERS, word_vectors
from mapl.data.tables.rows import Rows, check_rows
from mapl.types import Floats, Singles


class ScoredText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode rows as the scores of their words, standardised by public rows, beside what another encoder returns.

    There is nothing to fit: `fit` returns the encoder as it is. Its parameters are plain values and arrays, so that
    a model file can hold it.

    Parameters
    ----------
    texts
        The names of the text columns.
    polarities
        How much each word speaks for each class: one line per place of a word.
    centre, spread
        What is subtracted from the scores, and what they are divided by then.
    beside
        The encoder of all other columns, None where there are none.
    letters
        How many letters of a word count; all of them if None, as in files that are older than this.
    """

    letters: int | None = None

    def __init__(
        self,
        texts: list[str],
        polarities: Singles,
        centre: Floats,
        spread: Floats,
        beside: Encoder | None = None,
        letters: int | None = None,
    ) -> None:
        self.texts = texts
        self.polarities = polarities
        self.centre = centre
        self.spread = spread
        self.beside = beside
        self.letters = letters

    @classmethod
    def of_public(cls, rows: Rows, texts: list[str], polarities: Floats, beside: Encoder | None) -> Self:
        """Standardise the scores by those of PUBLIC rows. Two classes share one score."""
        told = polarities[:, 1:] - polarities[:, :1] if polarities.shape[1] == 2 else polarities
        kept: Singles = told.astype(np.float32)
        scores = _scores(rows, texts, kept, LETTERS)
        spread = scores.std(axis=0)
        return cls(texts, kept, scores.mean(axis=0), np.where(spread > 0, spread, 1.0), beside, LETTERS)

    def fit(self, X: Rows, y: Any = None) -> Self:
        """Return the encoder itself; it learns nothing from rows."""
        return self

    def transform(self, X: Rows) -> Singles:
        """Return the rows as a float32 matrix: one score per class first, then the other columns."""
        rows = check_rows(X, "rows") if isinstance(X, (list, tuple)) else X
        scores = self._standardised(rows)
        return scores if self.beside is None else np.hstack([scores, self.beside.transform(rows)])

    def encode(self, rows: Rows) -> EncodedRows:
        """Return what `transform` returns, without the zeros of wide groups."""
        scores = EncodedRows.of(self._standardised(rows))
        return scores if self.beside is None else scores.beside(self.beside.encode(rows))

    def _standardised(self, rows: Rows) -> Singles:
        scores = (_scores(rows, self.texts, self.polarities, self.letters) - self.centre) / self.spread
        return np.asarray(scores, np.float32)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _scores(rows: Rows, texts: list[str], polarities: Singles, letters: int | None) -> Floats:
    """Return the sum of the polarities of each row's words, one row at a time, hence whichever stand beside it."""
    return np.asarray(word_vectors(rows, texts, letters) @ polarities.astype(np.float64) / UNIT)
