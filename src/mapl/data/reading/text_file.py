"""Tables that are text: commas, tabs or JSON lines, compressed or not, always read as the same stream of bytes."""

from __future__ import annotations

import gzip
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
