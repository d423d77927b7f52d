"""Feature rows of any kind: a NumPy or CSR matrix, a pandas or polars frame, a pyarrow Table.

Everything that handles rows goes through these functions, so no other file asks what kind they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.data.reading.entries import is_number, pixels, reals
from mapl.data.reading.python_cells import arrow_column
from mapl.errors import InvalidData, InvalidParameter

CELLS_AT_ONCE = 1 << 20


class Rows(Protocol):
    """A two-dimensional NumPy array, a CSR matrix, a pandas or polars DataFrame, or a pyarrow Table.

    They are public, or private records in the hands of a function that may see them. A private table holds
    `PrivateRows`, which have neither a shape nor cells and are no Rows.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, where: Any, /) -> Any: ...


def check_rows(rows: Any, what: str, *, may_be_none: bool = False) -> Rows:
    """Return rows in a kind that mapl handles, or say why they cannot be used.

    Parameters
    ----------
    what
        What the rows are, for messages: "private rows", "public rows".
    may_be_none
        Whether there may be no row at all, as in a private table: how many there are is nobody's business.
    """
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, (list, tuple)):
        rows = _matrix_of_lists(rows, what)
    if hasattr(rows, "tocsr"):
        rows = rows.tocsr()
    elif isinstance(rows, np.ndarray):
        if isinstance(rows, np.ma.MaskedArray):
            raise InvalidData(f"The {what} are a masked array; fill what is masked, for example with NaN.")
        rows = np.asarray(rows)
    elif not isinstance(rows, pa.Table):
        rows = _frame_of(rows, what)
    if len(rows.shape) != 2:
        raise InvalidData(
            f"The {what} have {len(rows.shape)} dimensions; expected a table of rows and columns "
            "(one column: X.reshape(-1, 1), one row: X.reshape(1, -1))."
        )
    if is_matrix(rows) and rows.dtype.kind not in "biuf":
        raise InvalidData(
            f"The {what} are a matrix of type {rows.dtype}; expected numbers. Put text and mixed columns into a "
            "pandas or polars DataFrame or a pyarrow Table."
        )
    if rows.shape[0] == 0 and not may_be_none:
        raise InvalidData(f"There are no {what}; expected at least one row.")
    if rows.shape[1] == 0:
        raise InvalidData(f"The {what} have no columns; expected at least one.")
    found = names(rows) or ()
    twice = sorted({name for name in found if found.count(name) > 1}) if len(set(found)) < len(found) else []
    if twice:
        raise InvalidData(f"The {what} have two columns named {twice[0]!r}; give every column its own name.")
    checked: Rows = rows
    return checked


def native(rows: Rows) -> Any:
    """Return rows as what they are: each kind has more than a shape and cells, and few kinds bring types along."""
    return rows


def is_matrix(rows: Rows) -> bool:
    """Say whether rows are a matrix, whose columns have places instead of names."""
    return isinstance(rows, np.ndarray) or is_sparse(rows)


def is_sparse(rows: Rows) -> bool:
    """Say whether rows are a sparse matrix."""
    return hasattr(rows, "tocsr")


def n_rows(rows: Rows) -> int:
    """Return how many rows there are."""
    return int(rows.shape[0])


def names(rows: Rows) -> tuple[str, ...] | None:
    """Return the names of the columns, or None for a matrix."""
    if is_matrix(rows):
        return None
    return tuple(rows.column_names if isinstance(rows, pa.Table) else map(str, native(rows).columns))


def take(rows: Rows, where: NDArray[np.int64]) -> Rows:
    """Return a physical copy of some rows; it shares no memory with the others, and knows no row numbers."""
    taken: Rows
    if is_matrix(rows):
        taken = rows[where]
        return taken if is_sparse(taken) else np.ascontiguousarray(taken)
    if isinstance(rows, pa.Table):
        taken = rows.take(pa.array(where, pa.int64()))
        return taken
    import narwhals as nw

    # The index of a pandas frame would tell how many other rows stand before a row.
    taken = nw.maybe_reset_index(nw.from_native(native(rows), eager_only=True)[where]).to_native()
    return taken


def block_of(rows: Rows, start: int, stop: int) -> Rows:
    """Return neighbouring rows, without a copy where the kind allows."""
    block: Rows
    if isinstance(rows, pa.Table):
        block = rows.slice(start, stop - start)
    else:
        block = rows.iloc[start:stop] if hasattr(rows, "iloc") else rows[start:stop]
    return block


def as_arrow(rows: Rows) -> pa.Table:
    """Return a table or frame as a pyarrow Table; meant for blocks of rows, since it may copy."""
    if isinstance(rows, pa.Table):
        return rows
    try:
        if hasattr(rows, "iloc"):
            return pa.table({name: arrow_column(rows[name]) for name in native(rows).columns})
        return native(rows).to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        raise InvalidData(
            "Some column mixes cells of different types; make them all numbers or all text."
        ) from None


def column(rows: Rows, name: str) -> Any:
    """Return one column as a pyarrow array; the columns of a matrix are called x0, x1, ..."""
    if is_matrix(rows):
        place = int(name.removeprefix("x")) if name.removeprefix("x").isdecimal() else -1
        if not 0 <= place < rows.shape[1]:
            raise InvalidData(f"There is no column {name!r}; the columns of a matrix are called x0, x1, ...")
        cells = rows[:, [place]].toarray().ravel() if is_sparse(rows) else rows[:, place]
        return pa.array(np.ascontiguousarray(cells))
    return arrow_column(cells_of(rows, name))


def cells_of(rows: Rows, name: str) -> Any:
    """Return one column of a table or frame as that holds it."""
    known = rows.schema.get_field_index(name) >= 0 if isinstance(rows, pa.Table) else name in (names(rows) or ())
    if not known:  # of a table looked up, since all names of thousands of columns take long for every column
        raise InvalidData(f"There is no column {name!r}; check its name.")
    return rows.column(name) if isinstance(rows, pa.Table) else rows[name]


def select(rows: Rows, wanted: Sequence[str]) -> Rows:
    """Return some columns, in the order in which they are named."""
    chosen: Rows
    if is_matrix(rows):
        chosen = rows[:, [int(name.removeprefix("x")) for name in wanted]]
    else:
        chosen = rows.select(list(wanted)) if isinstance(rows, pa.Table) else rows[list(wanted)]
    return chosen


def without(rows: Rows, unwanted: Sequence[str]) -> Rows:
    """Return all columns but some; leaving out what is not there is no error."""
    all_names = names(rows) or tuple(f"x{j}" for j in range(rows.shape[1]))
    return select(rows, [name for name in all_names if name not in unwanted])


def for_learner(rows: Rows) -> Rows:
    """Return rows as learners take them: a pyarrow Table becomes a pandas DataFrame, all else is itself.

    A table whose only column holds images becomes the matrix of their pixels. All numbers are 64-bit floats: what a
    file stores them as may hang on a cell in a row of somebody else. Conformed rows have them already.
    """
    if not isinstance(rows, pa.Table):
        return rows
    if rows.num_columns == 1 and pa.types.is_fixed_size_list(rows.column(0).type):
        return pixels(rows.column(0), rows.column(0).type.list_size)
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError:
        raise InvalidParameter(
            "Learners get the rows of a file as a pandas DataFrame, and pandas is not installed: "
            'pip install "mapl[frames]".'
        ) from None
    plain = [reals(cells) if is_number(cells.type) else cells for cells in rows.columns]
    frame: Rows = pa.table(plain, names=rows.column_names).to_pandas()
    return frame


def _matrix_of_lists(rows: Sequence[Any], what: str) -> NDArray[Any]:
    try:
        return np.asarray(rows)
    except ValueError:
        raise InvalidData(f"The {what} are lists of different lengths; give every row the same length.") from None


def _frame_of(rows: Any, what: str) -> Rows:
    """Accept an eager DataFrame with columns that hold plain values."""
    import narwhals as nw

    if hasattr(rows, "iloc") and rows.ndim == 2:
        if rows.columns.nlevels > 1:
            raise InvalidData(f"The columns of the {what} have several levels; give every column one name.")
        if not all(isinstance(name, str) for name in rows.columns):
            rows = rows.set_axis([str(name) for name in rows.columns], axis="columns")
    try:
        frame = nw.from_native(rows, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise InvalidData(f"The {what} have two columns of one name; give every column its own.") from None
    except TypeError:
        raise InvalidData(
            f"The {what} are of type {type(rows).__name__}; expected a NumPy or scipy sparse matrix, a pandas or "
            "polars DataFrame (collected), or a pyarrow Table."
        ) from None
    plain: Rows = frame.to_native()
    return plain
