"""What the owner of private labels may want to see before a fit: which name a class, and which are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapl.data.reading.entries import decode, texts
from mapl.data.reading.python_cells import arrow_column
from mapl.data.tables.classes import UNKNOWN
from mapl.estimators.handed_over import codes, declare_classes, labels
from mapl.estimators.wording import in_python_words
from mapl.types import Silent


@dataclass(frozen=True, slots=True, repr=False)
class LabelCheck(Silent):
    """How private labels are read. Private: nothing here is protected.

    Parameters
    ----------
    by_class
        How many labels each class has.
    n_missing, n_of_no_class
        How many are empty, and how many say something that is no declared class; their rows are left out.
    """

    by_class: dict[Any, int]
    n_missing: int
    n_of_no_class: int


@in_python_words()
def check_labels(y: Any, *, classes: Any, label_values: Any = None) -> LabelCheck:
    """Count how private labels would be read by a fit, for the eyes of their owner: the result is PRIVATE.

    A fit says nothing of this, not even where y holds whole numbers and classes are words: what a column is stored
    as is decided by all rows together, so that one person could turn a refusal into a result.

    Examples
    --------
    >>> from mapl import check_labels
    >>> check_labels([0, 1, 1], classes=("no", "yes")).n_of_no_class
    3
    >>> check_labels([0, 1, 1], classes=("no", "yes"), label_values={0: "no", 1: "yes"}).by_class
    {'no': 1, 'yes': 2}
    """
    cells = labels(y)
    known = declare_classes(classes, cells)
    found = codes(cells, known, label_values)
    n_missing = texts(decode(arrow_column(cells))).null_count
    counts = np.bincount(found[found != UNKNOWN], minlength=len(known)).tolist()
    n_of_no_class = int((found == UNKNOWN).sum()) - n_missing
    return LabelCheck(dict(zip(known.tolist(), counts, strict=True)), n_missing, n_of_no_class)
