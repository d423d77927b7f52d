"""Tables in files on this machine: one of them, or all of a folder or a pattern, one after the other."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NoReturn, Self

import pyarrow as pa

from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.table_file import CONTENTS, PRIVATE, check_private_columns, private_blocks
from mapl.data.reading.text_file import suffix
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files whose rows are one table. Each is read by itself: what one stores changes nothing about another."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, path: Path) -> Self:
        """Take a file, all tables in a folder and below it, or what a pattern finds, in the order of names."""
        if path.is_dir():
            return cls(_tables_of(path, _below(path)))
        if not path.exists() and glob.has_magic(str(path)):
            return cls(_tables_of(path, map(Path, glob.iglob(str(path), recursive=True))))
        return cls((path,))

    def blocks(self, schema: Schema, torn: TornLines | None = None) -> Iterator[pa.Table]:
        named = {path: PRIVATE if len(self.paths) == 1 else f"{PRIVATE} of {path}" for path in self.paths}
        if len(named) > 1:  # not after an hour of reading
            for path, what in named.items():
                check_private_columns(path, schema, what)
        for path, what in named.items():
            yield from private_blocks(path, schema, torn, what)


def _tables_of(path: Path, found: Iterator[Path]) -> tuple[Path, ...]:
    """Return the tables among some files; hidden ones are leftovers of whoever wrote them."""
    root = _fixed_part(path)
    files = [one for one in found if one.is_file() and not is_leftover(one, root)]
    tables = tuple(sorted(one for one in files if suffix(one) in CONTENTS))
    if not tables:
        raise InvalidData(f"{path} names no table; expected {', '.join(CONTENTS)} files there.")
    return tables


def _below(folder: Path) -> Iterator[Path]:
    """Find what is in a folder and below it, by links to other folders too, but for those that lead back up."""

    def refuse(failure: OSError) -> NoReturn:
        raise InvalidData(
            f"The folder {failure.filename} cannot be read ({failure.strerror}); let this user read it, or name "
            "the files that count by a pattern."
        )

    for here, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        real = Path(here).resolve()
        above = {real, *real.parents, *(one.resolve() for one in Path(here).parents)}
        found = [Path(here, one) for one in folders]
        folders[:] = [one.name for one in found if one.resolve() not in above and not is_leftover(one, folder)]
        yield from (Path(here, name) for name in names)


def is_leftover(file: PurePath, root: PurePath) -> bool:
    """Say whether a file below a folder, or a folder that it is in, was left behind by whoever wrote the others."""
    below = file.relative_to(root).parts if file.is_relative_to(root) else (file.name,)
    return any(part.startswith((".", "_")) for part in below)


def _fixed_part(path: Path) -> Path:
    """Return the folder of a pattern, up to its first mark; of a folder, that folder."""
    marks = [place for place, part in enumerate(path.parts) if glob.has_magic(part)]
    return Path(*path.parts[: marks[0]]) if marks and not path.exists() else path
