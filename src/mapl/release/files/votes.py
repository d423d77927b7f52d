"""Reading votes: counts or single votes, from NumPy, CSV or Parquet files, as others write them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from mapl.data.reading.files import drop_index, first_lines, is_number, is_range, kind_of, readable
from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.types import Array, Tallies

Teachers = Literal["columns", "rows"]

SUFFIXES = (".npy", ".csv", ".parquet")
ROWS = "one row per question"
CELLS_AT_ONCE = 1 << 20

UNREADABLE_VOTE = 0
"""What an empty vote counts for, and one that names no declared class: the first class, as if a teacher failed."""


@dataclass(frozen=True, slots=True)
class Votes:
    """The tallies of a file and the classes they count."""

    tallies: Tallies
    classes: Classes


def read_votes(
    path: Path, *, classes: Classes | None = None, per_teacher: bool = False, teachers_in: Teachers = "columns"
) -> Votes:
    """Read a file of vote counts, or of one vote per teacher and question.

    Parameters
    ----------
    classes
        The declared classes: names of the columns of counts, and what a single vote may say.
    per_teacher
        Whether cells are single votes; then `classes` is needed, since reading the classes off private votes
        would already tell something about them.
    teachers_in
        Whether the teachers of such a file are its columns or, as in PATE's raw predictions, its rows.
    """
    if per_teacher:
        if classes is None:
            raise InvalidParameter(
                f"Votes per teacher need declared classes, for example {spell('classes', 'no,yes')}: the classes "
                "must not be read off private votes."
            )
        return Votes(Tallies.checked(_tally(path, classes, teachers_in)), classes)
    if teachers_in != "columns":
        raise InvalidParameter(
            f"{spell('teachers_in')} {teachers_in} describes single votes; give {spell('per_teacher')} with it."
        )
    tallies = Tallies.checked(read_counts(path))
    if classes is not None and len(classes) != tallies.n_classes:
        raise InvalidData(
            f"{path} has {tallies.n_classes} columns of counts and {len(classes)} classes are declared; there must "
            f"be one column per class, in the same order (or give {spell('per_teacher')} if cells are single "
            "votes)."
        )
    return Votes(tallies, classes if classes is not None else Classes.numbered(tallies.n_classes))


def read_counts(path: Path) -> Array:
    """Read the numbers of a file of vote counts, one row per question and one column per class."""
    kind = suffix(path)
    if kind == ".npy":
        mapped = _map(path)
        # Half and extended floats compare badly with large integers; every whole number survives the change.
        return np.array(mapped, dtype=np.float64 if mapped.dtype.kind == "f" else None)
    with readable(path):
        if kind == ".csv":
            return _numbers_of_csv(path)
        return _numbers_of_parquet(path)


def read_codes(path: Path, classes: Classes) -> Iterator[NDArray[np.int64]]:
    """Yield the cells of a file of class names or numbers as class numbers, in blocks of rows."""
    kind = suffix(path)
    if kind == ".npy":
        mapped = _map(path)
        table = mapped.reshape(-1, 1) if mapped.ndim == 1 else mapped
        if table.ndim != 2:
            raise InvalidData(f"{path} has shape {mapped.shape}; expected a table of rows and columns.")
        rows = max(1, CELLS_AT_ONCE // max(1, table.shape[1]))
        for start in range(0, len(table), rows):
            with readable(path):
                block = classes.codes(np.asarray(table[start : start + rows]), by_position=True)
            yield block
        return
    with readable(path):
        batches = _text_of_csv(path, classes) if kind == ".csv" else _cells_of_parquet(path)
        for batch in batches:
            yield np.stack([_codes_of_column(column, classes) for column in batch.columns], axis=1)


def suffix(path: Path) -> str:
    """Return the kind of a file by its name, or refuse a file that cannot be read as any."""
    return kind_of(path, SUFFIXES, rows=ROWS)


def _tally(path: Path, classes: Classes, teachers_in: Teachers) -> Array:
    """Count votes block by block; only the counts are ever held as a whole."""
    n_classes = len(classes)
    tallied: list[Array] = []
    for codes in read_codes(path, classes):
        # One teacher's empty or unknown vote must not refuse the file: that would tell of this teacher.
        codes = np.where(codes == UNKNOWN, UNREADABLE_VOTE, codes)
        by_question = codes if teachers_in == "columns" else codes.T
        n_questions = len(by_question)
        offsets = np.arange(n_questions, dtype=np.int64)[:, None] * n_classes
        counts = np.bincount((by_question + offsets).ravel(), minlength=n_questions * n_classes)
        block = counts.reshape(n_questions, n_classes).astype(np.int32)
        if teachers_in == "columns" or not tallied:
            tallied.append(block)
        else:
            tallied[0] += block
    if not tallied:
        raise _no_rows(path)
    return np.concatenate(tallied)


def _missing(path: Path) -> InvalidData:
    return InvalidData(
        f"{path} has empty cells; every cell must be filled (a teacher that fails casts a fixed vote)."
    )


def _no_rows(path: Path) -> InvalidData:
    return InvalidData(f"{path} has no rows; expected {ROWS}.")


def _map(path: Path) -> Array:
    """Open a NumPy file without reading it and without ever unpickling anything."""
    with readable(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # headers written by Python 2, as PATE's are
        mapped = np.lib.format.open_memmap(path, mode="r")
    if mapped.dtype.kind not in "iufSU":
        raise InvalidData(f"{path} holds cells of an unexpected type; expected whole numbers or class names.")
    if mapped.size == 0:
        raise _no_rows(path)
    return mapped


def _numbers_of_csv(path: Path) -> Array:
    top = first_lines(path, rows=ROWS)
    named = not any(map(is_number, top.first))
    header = named or (is_range(top.first) and _total(top.first) != _total(top.second))
    blocks = []
    for batch in _batches_of_csv(path, len(top.first), top.before + header, pa.float64()):
        if any(column.null_count for column in batch.columns):
            raise _missing(path)
        blocks.append(np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1))
    if not sum(map(len, blocks)):
        raise _no_rows(path)
    return np.concatenate(blocks)


def _text_of_csv(path: Path, classes: Classes) -> Iterator[Any]:
    top = first_lines(path, rows=ROWS)
    first = top.first
    known = (classes.codes(np.array(first), by_position=True) != UNKNOWN).tolist()
    # Names of teachers are all different; a first row that repeats itself is a row of (undeclared) votes.
    distinct = len(set(first)) == len(first)
    header = (not any(known) and distinct) or (is_range(first) and not all(known))
    return _batches_of_csv(path, len(first), top.before + header, pa.string())


def _batches_of_csv(path: Path, width: int, skip: int, cell: Any) -> Iterator[Any]:
    names = [f"f{i}" for i in range(width)]
    try:
        reader = pa.csv.open_csv(
            path,
            read_options=pa.csv.ReadOptions(column_names=names, skip_rows=skip),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, cell), null_values=[""], strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid:
        # Arrow calls a file that ends after the header empty; anything else is told by the caller.
        if not _rows_after(path, skip):
            raise _no_rows(path) from None
        raise
    return (batch for batch in reader if batch.num_rows)


def _rows_after(path: Path, skip: int) -> bool:
    with path.open("rb") as lines:
        return any(line.strip() for number, line in enumerate(lines) if number >= skip)


def _total(cells: list[str]) -> float:
    return sum(float(cell) for cell in cells if is_number(cell))


def _cells_of_parquet(path: Path) -> Iterator[Any]:
    # A plain generator, so that the file is closed when the last batch has been taken.
    with pa.parquet.ParquetFile(path) as opened:
        names = drop_index(opened.schema_arrow.names)
        if len(set(names)) < len(names):
            raise InvalidData(f"{path} has two columns of one name; give every column its own.")
        rows = max(1, CELLS_AT_ONCE // max(1, len(names)))
        yield from opened.iter_batches(batch_size=rows, columns=names)


def _numbers_of_parquet(path: Path) -> Array:
    blocks = []
    for batch in _cells_of_parquet(path):
        if any(column.null_count for column in batch.columns):
            raise _missing(path)
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if any(column.dtype.kind not in "iuf" for column in columns):
            raise InvalidData(
                f"{path} has columns that are not numbers; expected one column of counts per class (for single "
                f"votes give {spell('per_teacher')})."
            )
        block = np.stack(columns, axis=1)
        blocks.append(block.astype(np.float64) if block.dtype.kind == "f" else block)
    if not blocks:
        raise _no_rows(path)
    return np.concatenate(blocks)


def _codes_of_column(column: Any, classes: Classes) -> NDArray[np.int64]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return classes.codes_of_text(column, by_position=True)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return classes.codes(column.to_numpy(zero_copy_only=False), by_position=True)
    raise InvalidData(f"There is a column of type {kind}; expected class names or whole numbers.")
