"""What every reader of files asks first: is it there, is it what its name says, what does its first line hold.

Whatever a reader of another library complains about may quote a cell, and cells may be private; so its words are
never repeated, only the kind of problem is.
"""

from __future__ import annotations

import csv
import glob
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mapl.data.reading.text_file import COMPRESSED, SEPARATORS, open_text, separator, suffix
from mapl.errors import InvalidData

FIRST_BYTES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",
    b"FEA1": "an old kind of Feather",
    b"\x93NUMPY": "NumPy",
    b"PK\x03\x04": "a spreadsheet or an archive",
    b"\x1f\x8b": "compressed data",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""How files begin whose kind can be told by their first bytes."""

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""How an address begins, as a path keeps it, with one of its slashes; a drive of Windows has one letter."""

SPELLED = {",": "commas", "\t": "tabs", ";": "semicolons"}
NAMED = {mark: name for name, mark in reversed(SEPARATORS.items()) if COMPRESSED not in name}


@dataclass(frozen=True, slots=True)
class FirstLines:
    """The first two lines of a CSV file that hold anything, and how many lines stand before them."""

    first: list[str]
    second: list[str]
    before: int


def kind_of(path: Path, suffixes: Sequence[str], *, rows: str, may_be_empty: Sequence[str] = ()) -> str:
    """Return the kind of a file by its name, or refuse a file that cannot be read as any.

    Parameters
    ----------
    rows
        What the rows of such a file are, for the message about an empty one: "one row per question".
    may_be_empty
        The kinds of which an empty file is a table of no rows.
    """
    address = ADDRESS.match(str(path))
    if address is not None and not path.exists():  # the rest of it may hold a password
        raise InvalidData(
            f"{address[1]}://... is an address, and this has to be a file: copy it here first. Only the private "
            "table of mapl learn, teach, check and answer may be elsewhere."
        )
    if path.is_dir():
        raise InvalidData(
            f"{path} is a folder; give a file, not a folder. Only the private table of mapl learn, teach, check "
            "and answer may be one."
        )
    if not path.exists() and glob.has_magic(str(path)):
        raise InvalidData(
            f"{path} is a pattern, and this has to be one file: put the files that it finds together first. Only "
            "the private table of mapl learn, teach, check and answer may be one."
        )
    if not path.exists():
        raise InvalidData(f"There is no file {path}; check the path.")
    kind = suffix(path)
    if kind not in suffixes:
        raise InvalidData(
            f"{path} is not a {', '.join(suffixes[:-1])} or {suffixes[-1]} file; convert it to one of these."
        )
    if not path.is_file():
        raise InvalidData(f"{path} is not a file; give one that can be read again and again.")
    if not first_bytes(path) and kind not in may_be_empty:
        raise InvalidData(f"{path} is empty; expected {rows}.")
    return kind


def first_bytes(path: Path) -> bytes:
    """Return the few bytes that a file begins with."""
    try:
        with path.open("rb") as opened:
            return opened.read(max(map(len, FIRST_BYTES)))
    except OSError as failure:
        raise InvalidData(f"{path} cannot be opened ({failure.strerror}); check its permissions.") from None


def content_of(path: Path) -> str | None:
    """Say what a file holds, going by its first bytes; None where they are as good as any text."""
    begins = first_bytes(path)
    return next((content for mark, content in FIRST_BYTES.items() if begins.startswith(mark)), None)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn whatever a reader complains about into words that quote nothing."""
    try:
        yield
    except InvalidData:
        raise
    except Exception:
        raise InvalidData(
            f"{path} cannot be read as {path.suffix.lower()}: it is damaged or cut off, its rows have different "
            "lengths, or some cells are not what is expected here. Write it again, with the same number of cells "
            "in every row."
        ) from None


def first_lines(path: Path, *, rows: str, errors: str = "strict") -> FirstLines:
    """Read the beginning of a CSV file; refuse other separators and columns of row numbers.

    Parameters
    ----------
    errors
        What becomes of bytes that are no UTF-8, as `bytes.decode` has it.
    """
    mark = separator(path)
    with open_text(path) as opened, io.TextIOWrapper(opened, "utf-8-sig", errors, newline="") as lines:
        cells = csv.reader(lines, delimiter=mark)
        first = next((row for row in cells if row), [])
        before = cells.line_num - 1
        second: list[str] = []
        with suppress(csv.Error):  # a cell of great length; only the first line has to be short
            second = next((row for row in cells if row), [])
    if not first:
        raise InvalidData(f"{path} has no rows; expected {rows}.")
    other = max((one for one in SPELLED if one != mark), key=first[0].count)
    if len(first) == 1 and other in first[0]:  # the line of names is public, whoever the rows are about
        beside = "and with points in numbers (1.5)" if other == ";" else f"or name it {NAMED[other]}"
        raise InvalidData(
            f"The cells of {path} are not separated by {SPELLED[mark]} but by {SPELLED[other]}; write it again "
            f"with {SPELLED[mark]}, {beside}."
        )
    if len(first) > 1 and first[0] == "" and "" not in first[1:]:
        raise InvalidData(
            f"The first column of {path} has no name, so it seems to be a row number; write the file without it "
            "(in pandas: to_csv(..., index=False))."
        )
    return FirstLines(first, second, before)


def is_number(cell: str) -> bool:
    """Say whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_range(cells: list[str]) -> bool:
    """Say whether a line counts 0, 1, 2, ..., as column names written by pandas do."""
    return len(cells) > 1 and [cell.strip() for cell in cells] == [str(i) for i in range(len(cells))]


def drop_index(names: Sequence[str]) -> list[str]:
    """Leave out the columns in which pandas keeps its row numbers."""
    return [name for name in names if not name.startswith("__index_level_")]
