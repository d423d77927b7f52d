"""Keyed coins of rows: a number for every row, made from its own content alone, for very many rows at once.

Digests (`row_digests`) tell rows apart, and cost a hash of a library for each. A coin only has to fall evenly: what
is promised holds however coins fall, as long as a row's coin follows from that row.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, is_sparse, native
from mapl.data.units.row_digests import number_words, words_of_cells
from mapl.types import Words

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The factors of splitmix64 (Steele, Lea and Flood 2014), which spreads every bit of a word over all others."""


def row_coins(rows: Rows, secret: bytes) -> Words:
    """Return a keyed 64-bit number for every row; equal rows have equal ones, however they are stored."""
    start = np.frombuffer(hashlib.sha256(b"mapl coins of rows" + secret).digest()[:8], dtype="<u8")[0]
    return _mixed(_sums(rows, start) ^ start)


def _sums(rows: Rows, start: np.uint64) -> Words:
    """Add up, for every row, a number for each of its cells other than zero, by its content and its place."""
    if is_sparse(rows):
        own = native(rows).copy()
        own.sum_duplicates()
        words = number_words(own.data)
        spread = np.where(words == 0, np.uint64(0), _mixed(words ^ _places(own.indices, start)))
        ends = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(spread, dtype=np.uint64)])
        return np.asarray(np.diff(ends[own.indptr]))
    words = words_of_cells(rows)
    spread = _mixed(words ^ _places(np.arange(words.shape[1]), start))
    spread[words == 0] = 0
    return np.asarray(spread.sum(axis=1, dtype=np.uint64))


def _places(places: NDArray[np.integer], start: np.uint64) -> Words:
    return _mixed(places.astype(np.uint64) + start)


def _mixed(words: Words) -> Words:
    mixed = words ^ (words >> np.uint64(30))
    mixed *= FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed
