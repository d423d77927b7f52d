"""The data sets of the benchmarks, split alike for every method: what is private, what is public, what measures.

Private rows are the train split. Public rows, without labels, are a random half of the test split, and the other
half measures the student. Files are looked for in ../shared/data, others in packages; none of them belongs to the
project.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clothes
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp
import untouched
from numpy.typing import NDArray

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for, with_bins
from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.words import LETTERS, word_vectors

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
LABEL = "label"
PLACES = 256
"""Of words for peers that take dense rows alone: of 64, 128, 256 and 512 the best for AdaSSP at epsilon 1 and 4 on
evaluation rows of a split without figures, beside as many of the words that public rows have most often."""
CLASSES = {"adult": 2, "a9a": 2, "mushroom": 2, "credit_default": 2, "covertype": 7, "mnist": 10, "sst2": 2}
CLASSES |= {"diamonds": 5, "flights": 2, "health": 2, "clothes": 10}
FILES = {"covertype": "covertype_full"}


class DataAbsent(Exception):
    """The file of a data set is not here; its message says which benchmark is skipped and why."""


@dataclass(frozen=True, slots=True)
class Split:
    """One data set as a run sees it: `private` and `evaluation` have labels, `public` has none."""

    name: str
    private: pa.Table
    public: pa.Table
    evaluation: pa.Table
    public_labels: NDArray[np.int64]  # for measuring released labels, never for training
    classes: tuple[str, ...]
    label: str = LABEL


@dataclass(frozen=True, slots=True)
class Matrices:
    """A split as numbers, encoded by what public rows show alone."""

    X_private: Any
    y_private: NDArray[np.int64]
    X_public: Any
    X_eval: Any
    y_eval: NDArray[np.int64]


def load(name: str, seed: int, *, n_private: int | None = None, n_public: int | None = None) -> Split:
    """Return one seeded split.

    Parameters
    ----------
    n_private
        Keep so many random private rows, of a large table such as covertype.
    n_public
        Instead of half of the test split. Fewer leave the evaluation rows as they are, more are taken from them.

    Raises
    ------
    DataAbsent
        If the file is not there.
    """
    table = _find(name)
    if table is None:
        raise DataAbsent(f"skipped: {name}, which is neither in ../shared/data nor in one of the packages here")
    private, test = (
        table.filter(pc.equal(pc.cast(table["split"], pa.string()), part)).drop_columns("split")
        for part in ("train", "test")
    )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(test))
    half = len(test) // 2
    n_public = half if n_public is None else n_public
    if n_private is not None and n_private < len(private):
        private = private.take(np.sort(rng.choice(len(private), n_private, replace=False)))
    public = test.take(order[:n_public])
    return Split(
        name,
        private,
        public.drop_columns(LABEL),
        test.take(order[max(n_public, half) :]),
        labels_of(public),
        tuple(map(str, range(CLASSES[name]))),
    )


def _find(name: str) -> pa.Table | None:
    if name in untouched.TABLES:
        return untouched.table(name)
    return clothes.table() if name == "clothes" else _shared(name)


def _shared(name: str) -> pa.Table | None:
    path = DATA / f"{FILES.get(name, name)}.parquet"
    return pq.read_table(path) if path.exists() else None


def labels_of(table: pa.Table) -> NDArray[np.int64]:
    """Return the labels as class numbers."""
    return np.asarray(table[LABEL], dtype=np.int64)


def matrices(split: Split, *, bins: bool = False) -> Matrices:
    """Encode a split as mapl does, by its public rows.

    Parameters
    ----------
    bins
        Whether numbers get one more column per public bin, which lets linear models bend.
    """
    schema = draft_schema(split.public)
    encoder = with_bins(encoder_for(schema, split.public), schema, bins=bins)
    X_private, X_public, X_eval = (
        encoder.transform(rows)
        for rows in (split.private.drop_columns(LABEL), split.public, split.evaluation.drop_columns(LABEL))
    )
    return Matrices(X_private, labels_of(split.private), X_public, X_eval, labels_of(split.evaluation))


def words(split: Split, letters: int | None = None) -> Matrices:
    """Return the words of texts as moments see them, sparse rows of norm 1; so many letters of them, or whole."""
    texts = split.public.column_names
    X_private, X_public, X_eval = (
        word_vectors(rows.select(texts), texts, letters) / UNIT
        for rows in (split.private, split.public, split.evaluation)
    )
    return Matrices(X_private, labels_of(split.private), X_public, X_eval, labels_of(split.evaluation))


def few_words(split: Split) -> Matrices:
    """Return the beginnings of words, in so few places that their rows can be dense."""
    every = words(split, LETTERS)
    X_private, X_public, X_eval = map(_folded, (every.X_private, every.X_public, every.X_eval))
    return Matrices(X_private, every.y_private, X_public, X_eval, every.y_eval)


def _folded(rows: sp.csr_matrix) -> NDArray[np.float64]:
    fold = sp.csr_matrix(
        (np.ones(rows.shape[1]), (np.arange(rows.shape[1]), np.arange(rows.shape[1]) % PLACES)),
        shape=(rows.shape[1], PLACES),
    )
    return np.asarray((rows @ fold).todense())
