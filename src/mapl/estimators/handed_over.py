"""Reading what a user hands over: rows, labels and classes in the many forms that scikit-learn takes.

NumPy and scikit-learn quote an array, or count its rows, when they complain about it. Both may be private, so what
they would complain about is refused here first, in other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from mapl.data.reading.entries import reals
from mapl.data.reading.numerals import as_floats
from mapl.data.reading.python_cells import arrow_column
from mapl.data.tables.classes import Classes
from mapl.data.tables.label_values import declare_values, label_values_of
from mapl.data.tables.rows import Rows, is_sparse
from mapl.data.tables.table import label_codes, public_codes
from mapl.errors import InvalidData, InvalidParameter
from mapl.types import Labels

FROM_LABELS = "labels"
"""Declares that which classes occur among the private labels is public knowledge."""


def is_array_like(given: Any) -> bool:
    """Say whether rows are a matrix, or lists that make one, and not a table with named columns."""
    from narwhals.dependencies import is_into_dataframe

    if isinstance(given, (list, tuple)) or is_sparse(given):
        return True
    return hasattr(given, "__array__") and not hasattr(given, "column_names") and not is_into_dataframe(given)


def matrix(given: Any, what: str, *, public: bool = False) -> Rows:
    """Return rows as a matrix of numbers.

    The type of an array counts as declared. That of lists and of arrays of objects would be read off all rows
    together, so that one row could change what others look like; these always become 64-bit floats.

    Parameters
    ----------
    public
        Whether the rows are public: text that is no number is then refused, where it counts as missing otherwise.
    """
    if is_sparse(given):
        _refuse_complex(given.dtype, what)
        as_given: Rows = given
        return as_given
    try:  # of private lists no cell decides what others are stored as, nor how much memory they take
        rows = (
            np.array(given, dtype=object) if isinstance(given, (list, tuple)) and not public else np.asarray(given)
        )
        ragged = rows.dtype.kind == "O" and rows.ndim == 1 and any(isinstance(row, (list, tuple)) for row in rows)
    except ValueError:
        ragged = True
    if ragged:
        raise InvalidData(f"The {what} are lists of different lengths; give every row the same length.")
    _refuse_complex(rows.dtype, what)
    if rows.ndim != 2:
        raise InvalidData(
            f"The {what} have {rows.ndim} dimensions; expected a table of rows and columns. Reshape your data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )
    if rows.dtype.kind not in "OUS" and (hasattr(given, "dtype") or rows.dtype.kind not in "biuf"):
        return rows
    if not public and rows.dtype.kind in "OUS":  # cell by cell: one that is no number changes no other
        columns = [as_floats(reals(arrow_column(rows[:, j].tolist()))) for j in range(rows.shape[1])]
        return np.column_stack(columns) if columns else rows
    try:
        return rows.astype(np.float64)
    except (ValueError, OverflowError):
        raise InvalidData(
            f"The {what} hold text, or no numbers, and are no table; put text and mixed columns into a pandas "
            "or polars DataFrame or a pyarrow Table."
        ) from None


def _refuse_complex(kind: np.dtype[Any], what: str) -> None:
    """Say what scikit-learn would say, without the rows that it would quote."""
    if kind.kind == "c":
        raise InvalidData(f"Complex data not supported: the {what} hold complex numbers. Give real ones.")


def labels(given: Any) -> NDArray[Any]:
    """Return labels as a column, whatever they are."""
    try:
        cells = _objects(given) if isinstance(given, (list, tuple)) else np.asarray(given)
    except ValueError:  # lists of different lengths
        cells = np.empty((0, 0))
    if cells.ndim != 1 and (cells.ndim != 2 or cells.shape[1] != 1):
        raise InvalidData("y is no column; give one label per row.")
    column: NDArray[Any] = column_or_1d(cells, warn=True)
    return column


def _objects(given: Sequence[Any]) -> NDArray[Any]:
    """Return a list as an array of its very cells: NumPy would find one type for all, and one length."""
    if all(isinstance(cell, (list, tuple, np.ndarray)) for cell in given):
        return np.asarray(given)  # rows of a table
    cells = np.empty(len(given), dtype=object)
    for i, cell in enumerate(given):
        cells[i] = cell
    return cells


def declare_classes(classes: Any, found: NDArray[Any]) -> NDArray[Any]:
    """Return the declared classes in ascending order, as scikit-learn keeps them."""
    if classes is None:
        raise InvalidParameter(
            "classes is None, and mapl never reads the classes off private labels: a rare class would give its "
            'holder away. Declare them, for example classes=("no", "yes"); or classes="labels" if which classes '
            "occur is public knowledge."
        )
    if isinstance(classes, str) and classes != FROM_LABELS:
        raise InvalidParameter(f'classes is {classes!r}; list the classes, such as ("no", "yes"), or say "labels".')
    listed = _discrete(found) if isinstance(classes, str) else np.array(list(classes))
    try:
        known = np.unique(listed)
    except TypeError:
        raise InvalidParameter(
            "The classes cannot be put in order: some are missing or of different types. Make them all numbers or "
            "all text."
        ) from None
    if len(known) < 2:
        raise InvalidParameter("There is at most one class; a classifier needs at least two different ones.")
    if any(name != name.strip() or not name for name in names_of(known).names):
        raise InvalidParameter("Some declared class is blank or has blanks around it; write it without.")
    return known


def _discrete(found: NDArray[Any]) -> NDArray[Any]:
    if found.dtype.kind == "O" and all(isinstance(one, (bool, int, float, np.number, np.bool_)) for one in found):
        found = np.array(found.tolist())
    if found.dtype.kind == "f" and not (np.isfinite(found) & (np.trunc(found) == found)).all():
        raise InvalidData(
            "Unknown label type: y holds continuous or missing numbers. A classifier learns classes; give whole "
            "numbers or text, one label per row, or take PrivateRegressor(low=..., high=...), which learns numbers."
        )
    return found


def names_of(classes: NDArray[Any]) -> Classes:
    """Return the names by which the pipeline knows the classes."""
    return Classes(tuple(map(str, classes.tolist())))


def codes(found: NDArray[Any], classes: NDArray[Any], values: Any = None) -> Labels:
    """Return the number of every private label's class, UNKNOWN where one is empty or names no declared class."""
    return label_codes(found, declare_values(names_of(classes), label_values_of(values)))


def codes_of_public(found: NDArray[Any], classes: NDArray[Any], values: Any = None) -> Labels:
    """Return the number of every public label's class, or refuse labels outside the declared classes, unquoted."""
    return public_codes(found, declare_values(names_of(classes), label_values_of(values)), name="public_y")


def refuse_other_kind(rows: Rows, others: Rows, what: str, than: str) -> None:
    """Refuse rows of another kind than others: a learner may fail on one kind and not on the other."""
    kinds = [
        "sparse matrix" if is_sparse(one) else f"{type(one).__module__.split('.')[0]} {type(one).__name__}"
        for one in (rows, others)
    ]
    if kinds[0] != kinds[1]:
        raise InvalidData(f"The {what} are a {kinds[0]} and the {than} a {kinds[1]}; give both in the same form.")
