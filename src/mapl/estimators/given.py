"""Reading what a user hands over: rows, labels and classes in the many forms that scikit-learn takes.

NumPy and scikit-learn quote an array, or count its rows, when they complain about it. Both may be private, so what
they would complain about is refused here first, in other words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from mapl.data.classes import UNKNOWN, Classes
from mapl.data.rows import Rows, is_sparse
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


def matrix(given: Any, what: str) -> Rows:
    """Return rows as a matrix of numbers.

    The type of an array counts as declared. That of lists and of arrays of objects would be read off all rows
    together, so that one row could change what others look like; these always become 64-bit floats.
    """
    if is_sparse(given):
        _refuse_complex(given.dtype, what)
        return given
    try:
        rows = np.asarray(given)
    except ValueError:
        raise InvalidData(f"The {what} are lists of different lengths; give every row the same length.") from None
    _refuse_complex(rows.dtype, what)
    if rows.ndim != 2:
        raise InvalidData(
            f"The {what} have {rows.ndim} dimensions; expected a table of rows and columns. Reshape your data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        )
    if rows.dtype.kind not in "OUS" and (hasattr(given, "dtype") or rows.dtype.kind not in "biuf"):
        return rows
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
        cells = np.asarray(given)
    except ValueError:  # lists of different lengths
        cells = np.empty((0, 0))
    if cells.ndim != 1 and (cells.ndim != 2 or cells.shape[1] != 1):
        raise InvalidData("y is no column; give one label per row.")
    column: NDArray[Any] = column_or_1d(cells, warn=True)
    return column


def declared(classes: Any, found: NDArray[Any]) -> NDArray[Any]:
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
    if found.dtype.kind == "f" and not (np.isfinite(found) & (np.trunc(found) == found)).all():
        raise InvalidData(
            "Unknown label type: y holds continuous or missing numbers. A classifier learns classes; give whole "
            "numbers or text, one label per row."
        )
    return found


def names_of(classes: NDArray[Any]) -> Classes:
    """Return the names by which the pipeline knows the classes."""
    return Classes(tuple(map(str, classes.tolist())))


def codes(found: NDArray[Any], classes: NDArray[Any]) -> Labels:
    """Return the number of every label's class, or refuse labels outside the declared classes, unquoted."""
    places = {one: code for code, one in enumerate(classes.tolist())}
    try:
        numbers = np.array([places.get(one, UNKNOWN) for one in found.tolist()], dtype=np.int32)
    except TypeError:  # an object that has no hash
        numbers = np.array([UNKNOWN])
    if (numbers == UNKNOWN).any():
        raise InvalidData(
            f"y has empty cells, or labels that are none of the {len(classes)} declared classes; declare every "
            "class in `classes`, in the type that y has, and leave out rows without a label."
        )
    return numbers
