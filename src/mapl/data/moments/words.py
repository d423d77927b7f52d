"""Texts as vectors of the words in them: hashed, each word once, and all texts of one length."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from mapl.data.moments.even_guess import beyond_even
from mapl.data.moments.feature_map import UNIT
from mapl.data.reading.entries import legible, texts
from mapl.data.tables.rows import Rows, column, n_rows
from mapl.types import Floats, Integers

WIDTH = 1 << 16
"""Places for the words of a column; a quarter of them would cost two points by collisions on SST-2."""

LETTERS = 6
"""So many letters of a word count: its endings share one sum, and most words are too rare to stand out of noise by
themselves. Words with a digit, such as codes, are told apart by their ends and stay whole."""

TOTAL = 0.25
"""How much of a word's vector goes into its total, where a label's part is 1."""


def word_vectors(rows: Rows, columns: Sequence[str], letters: int | None = LETTERS) -> Any:
    """Return a sparse vector of whole numbers for each row, of norm at most 2^18, a function of that row alone.

    Parameters
    ----------
    letters
        How many letters of a word count; all of them if None, as for students of before.
    """
    if not n_rows(rows):
        return sp.csr_matrix((0, WIDTH * len(columns)))
    hashing = _hashing(letters)
    found = sp.hstack([hashing.transform(_written(rows, name)) for name in columns], format="csr")
    n_words = np.diff(found.indptr)
    # Rounded down, so that the norm is never above: k squares of at most UNIT^2 / k.
    length = np.array([math.isqrt(UNIT * UNIT // max(1, int(n))) for n in n_words], dtype=np.float64)
    found.data = np.repeat(length, n_words)
    return found


def words_of(rows: Rows, columns: Sequence[str], letters: int | None = LETTERS) -> tuple[list[str], Integers]:
    """Return the words that stand in some PUBLIC rows, in order, and the place of each among a vector's.

    A beginning that stands for longer words is told with three dots.
    """
    words: list[str] = []
    places: list[int] = []
    hashing, pattern = _hashing(letters), re.compile(_pattern(letters))
    for j, name in enumerate(columns):
        goes_on: dict[str, bool] = {}
        for text in _written(rows, name):
            for match in pattern.finditer(text.lower()):
                goes_on[match[1]] = goes_on.get(match[1], False) or match[0] != match[1]
        own = sorted(goes_on)
        if not own:  # punctuation alone, or empty cells
            continue
        hashed = hashing.transform(own)  # a word by itself has one place, unless it is cut up
        kept = np.flatnonzero(np.diff(hashed.indptr) == 1)
        words += [own[i] + "..." * goes_on[own[i]] for i in kept]
        places += [j * WIDTH + int(hashed.indices[hashed.indptr[i]]) for i in kept]
    return words, np.array(places, dtype=np.int64)


def _written(rows: Rows, name: str) -> list[str]:
    with legible(name, "text", "rows"):
        written: list[str] = texts(column(rows, name)).fill_null("").to_pylist()
    return written


def _pattern(letters: int | None) -> str:
    """Return what a word looks like, two letters at least; what counts of it is the group."""
    part = r"\w+" if letters is None else rf"\w*\d\w*|\w{{2,{letters}}}"
    return rf"(?u)\b(?=\w\w)({part})\w*"


def _hashing(letters: int | None) -> HashingVectorizer:
    return HashingVectorizer(
        n_features=WIDTH,
        binary=True,
        norm=None,
        alternate_sign=False,
        dtype=np.float64,
        token_pattern=_pattern(letters),
    )


@dataclass(frozen=True, slots=True)
class WordResiduals:
    """For every word, how often it stands in records of each class beyond an even share, and how often at all.

    Where labels are numbers, their ends are the classes.
    """

    columns: tuple[str, ...]
    n_classes: int

    @property
    def shape(self) -> tuple[int, int]:
        return WIDTH * len(self.columns), self.n_classes + 1

    @property
    def bound(self) -> float:
        """The norm of every residual."""
        return math.sqrt(1 - 1 / self.n_classes + TOTAL**2)

    def encode(self, rows: Rows) -> Rows:
        return rows  # of which all are taken at once

    def measure(self, rows: Rows, labels: NDArray[Any]) -> tuple[Any, Floats]:
        """Return vectors and residuals: a label as zeros and a one, minus an even guess, and a constant."""
        total = np.full((len(labels), 1), TOTAL)
        residuals = np.concatenate([beyond_even(labels, self.n_classes), total], axis=1)
        return word_vectors(rows, self.columns), residuals
