"""Tables in object stores: Parquet files below an address such as ``s3://bucket/visits``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Self

import pyarrow as pa
import pyarrow.fs

from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.table_file import PRIVATE, parquet_blocks, parquet_kinds
from mapl.data.sources.spoken import spoken
from mapl.data.sources.table_files import is_leftover
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData

PARQUET = ".parquet"

RETRY_LIMIT, SECONDS_OUT_OF_REACH = "retry_limit_seconds", 60
"""What pyarrow calls it in the address of a Google store."""

PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
"""What fsspec needs for addresses of a kind, where pyarrow has nothing for it."""


@dataclass(frozen=True, slots=True)
class StoreSource:
    """The Parquet files at an address that pyarrow or fsspec knows; credentials are theirs to find."""

    name: str
    files: Any = field(repr=False)
    path: str

    @classmethod
    def of(cls, address: str) -> Self:
        try:
            files, path = pa.fs.FileSystem.from_uri(_with_patience(address))
        except (pa.ArrowException, OSError, ValueError):
            files, path = _of_fsspec(address)
        return cls(spoken(address), files, path)

    def blocks(self, schema: Schema, torn: TornLines | None = None) -> Iterator[pa.Table]:
        tables = self._tables()
        named = {path: PRIVATE if len(tables) == 1 else f"{PRIVATE} of {path}" for path in tables}
        if len(named) > 1:  # not after an hour of reading
            for path, what in named.items():
                with _in_words(self.name), self.files.open_input_file(path) as opened:
                    parquet_kinds(opened, schema, what)
        for path, what in named.items():
            with _in_words(self.name), self.files.open_input_file(path) as opened:
                yield from parquet_blocks(opened, schema, what)

    def _tables(self) -> list[str]:
        with _in_words(self.name):
            found = self.files.get_file_info(self.path)
            if found.type == pa.fs.FileType.Directory:
                below = self.files.get_file_info(pa.fs.FileSelector(self.path, recursive=True))
                found_below = (one.path for one in below if one.is_file and one.extension.lower() == PARQUET[1:])
                own = PurePosixPath(self.path)
                tables = sorted(one for one in found_below if not is_leftover(PurePosixPath(one), own))
            else:
                tables = [self.path] if found.is_file else []
        if not tables:
            raise InvalidData(f"There is no {PARQUET} file at {self.name}; check the address.")
        return tables


def _with_patience(address: str) -> str:
    """Return an address with how long its store may be out of reach, where it does not say so itself.

    Google's own client tries for a quarter of an hour, with every step, and says nothing meanwhile.
    """
    if address.partition("://")[0] not in ("gs", "gcs") or RETRY_LIMIT in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}{RETRY_LIMIT}={SECONDS_OUT_OF_REACH}"


def _of_fsspec(address: str) -> tuple[Any, str]:
    """Return the file system of an address that pyarrow itself has none for."""
    try:
        import fsspec

        files, path = fsspec.core.url_to_fs(address)
    except Exception:  # whose words may hold a password
        kind = address.partition("://")[0].lower()
        package = PACKAGES.get(kind)
        why = (
            f"it cannot be reached, its credentials are missing, or the package for it is (pip install {package})"
            if package
            else "its kind is not known here"
        )
        raise InvalidData(
            f"The address {spoken(address)} cannot be opened: {why}. Give a path, s3://, gs://, postgresql://, "
            "duckdb:// or sqlite://, and for the first two credentials as their own tools find them."
        ) from None
    return pa.fs.PyFileSystem(pa.fs.FSSpecHandler(files)), path


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Tell what a store complains about without its words, which may quote what is stored."""
    try:
        yield
    except InvalidData:
        raise
    except pa.ArrowInvalid:
        raise InvalidData(
            f"{name} is no {PARQUET} file, or a damaged one; at an address only {PARQUET} files are read. Copy a "
            "file of another kind here first, and give its path. Nothing was spent."
        ) from None
    except Exception as failure:
        raise InvalidData(
            f"{name} cannot be read ({type(failure).__name__}); check the address, the rights to it and the "
            "connection, and run the same command again. Nothing was spent."
        ) from None
