"""A table from standard input: the path ``-``, and ``--format`` that says what comes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, TypeVar

from mapl.cli.console import at_end
from mapl.cli.dialect.panels import TABLES, option
from mapl.errors import InvalidParameter

INPUT = "-"
FORMATS = ("csv", "tsv", "jsonl", "parquet")

InputFormat = Annotated[
    str | None,
    option(TABLES, "What standard input holds where a table is called -: csv, tsv, jsonl or parquet.", "--format"),
]

Place = TypeVar("Place")


class StandardInput:
    """What comes from standard input, if one of a command's tables is called ``-``.

    Its content is kept in a file in a folder that only its owner may enter, which goes away with the command.

    Parameters
    ----------
    form
        What it holds, as ``--format`` says.
    places
        All tables of the command.
    """

    def __init__(self, form: str | None, *places: str | Path | None) -> None:
        self._form = form
        n_wanted = [str(place) for place in places].count(INPUT)
        if n_wanted > 1:
            raise InvalidParameter(
                "Two tables are called -, and standard input holds one; give the other as a file."
            )
        if n_wanted and form not in FORMATS:
            given = "is missing" if form is None else f"is {form!r}"
            raise InvalidParameter(
                f"A table is called -, which is standard input, and --format {given}; give one of "
                f"{', '.join(FORMATS)}."
            )
        if not n_wanted and form is not None:
            raise InvalidParameter(
                "--format says what standard input holds, and no table is called -; leave it away: files say what "
                "they are by their names."
            )

    def file_of(self, place: Place) -> Place:
        """Return the place of a table, or that of the file where it is called ``-``."""
        return type(place)(self._kept()) if str(place) == INPUT else place  # type: ignore[call-arg]

    def _kept(self) -> Path:
        if sys.stdin.isatty():
            raise InvalidParameter(
                "A table is called -, and standard input is a terminal; pipe a table into the command."
            )
        folder = Path(tempfile.mkdtemp(prefix="mapl-"))
        at_end(lambda: shutil.rmtree(folder, ignore_errors=True))
        path = folder / f"standard-input.{self._form}"
        with path.open("xb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return path
