"""Tables that are text: commas, tabs or JSON lines, compressed or not, always read as the same stream of bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from mapl.errors import InvalidData

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
"""By how their names end, what stands between the cells of a row."""

JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
"""How the names of files end that hold one JSON object per line."""

COMPRESSED = ".gz"


def suffix(path: Path) -> str:
    """Return how a file's name ends, what was compressed included: ``.csv.gz``."""
    last = path.suffix.lower()
    return Path(path.stem).suffix.lower() + last if last == COMPRESSED else last


def separator(path: Path) -> str:
    """Return what stands between the cells of a file of text."""
    return SEPARATORS.get(suffix(path), ",")


@contextmanager
def open_text(path: Path) -> Iterator[IO[bytes]]:
    """Open a file of text for reading its bytes, as they were before they were compressed."""
    if path.suffix.lower() != COMPRESSED:
        with path.open("rb") as opened:
            yield opened
        return
    try:
        with gzip.open(path, "rb") as unpacked:
            yield cast("IO[bytes]", unpacked)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InvalidData(f"{path} cannot be unpacked: it is damaged or cut off. Compress it again.") from None


class WholeLineEnds(io.RawIOBase):
    """A stream of bytes that is never parted within a line end.

    pyarrow drops the second half of a line end that a block begins with, even in the middle of a cell. Where blocks
    begin follows from all cells before, so how long one of them is would change another.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        whole = b""
        while True:
            content = self._source.read(1 if whole else size)
            whole += self.mended(content)
            if not content or (whole and not whole.endswith(b"\r")):
                return whole

    def mended(self, content: bytes) -> bytes:
        """Return bytes as they are handed on; none are the end."""
        return content
