"""Tables in databases: PostgreSQL through ADBC, DuckDB, SQLite.

What a cell is read as follows from that cell and from what the database declares about its column. SQLite declares
next to nothing, so its cells are taken one by one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import pyarrow as pa

from mapl.data.reading.csv_rows import TornLines
from mapl.data.reading.python_cells import arrow_column
from mapl.data.sources.spoken import spoken
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter, MaplError

ROWS_AT_ONCE = 1 << 15
TABLE, QUERY = "table", "query"
WHAT = "private rows"


def is_database(address: str) -> bool:
    """Say whether an address is that of a database."""
    return "://" in address and address.split("://")[0].lower() in READERS


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """What one statement finds in a database, read in one go, so that no row changes between two blocks.

    Parameters
    ----------
    name
        The address without a password, for messages.
    place
        What the driver opens: an address or a path.
    statement
        The query.
    """

    kind: str
    name: str
    place: str = field(repr=False)  # it may hold a password
    statement: str

    @classmethod
    def of(cls, address: str) -> Self:
        """Take an address apart: ``?table=`` or ``?query=`` names what to read, the rest is for the driver."""
        name = spoken(address)
        try:
            parts = urlsplit(address)
        except ValueError:
            raise InvalidParameter(
                f"{name} is no address; a mark in a password is written as %40, %3F, ..."
            ) from None
        given = parse_qsl(parts.query, keep_blank_values=True)
        wanted = [(key, value) for key, value in given if key in (TABLE, QUERY)]
        if parts.scheme in IN_FILES and parts.netloc:
            raise InvalidParameter(f"{name} names a server; a file is {parts.scheme}:///FILE, with three slashes.")
        if len(wanted) != 1 or not wanted[0][1]:
            raise InvalidParameter(
                f"{name} does not say what to read; name one table or query behind it, such as "
                f"{parts.scheme}://...?table=visits or ?query=SELECT+..."
            )
        key, value = wanted[0]
        # As they were written: libpq takes a plus for a plus, and a blank for %20 only.
        rest = "&".join(part for part in parts.query.split("&") if part and not _says_what(part))
        if parts.scheme in IN_FILES:
            place = unquote(parts.path[1:] if parts.path.startswith("/") else parts.path)
        else:
            place = urlunsplit((parts.scheme, parts.netloc, parts.path, rest, ""))
        statement = value if key == QUERY else f"SELECT * FROM {_quoted(value)}"
        return cls(parts.scheme, name, place, statement)

    def blocks(self, schema: Schema, torn: TornLines | None = None) -> Iterator[pa.Table]:
        try:
            for number, block in enumerate(READERS[self.kind](self.place, self.statement)):
                if not number:
                    _check_names(block.column_names, schema)
                yield block
        except MaplError:
            raise
        except ModuleNotFoundError as missing:
            raise InvalidParameter(f'{self.kind}:// needs {missing.name}: pip install "mapl[databases]".') from None
        except Exception:  # its words may quote a cell
            raise InvalidData(
                f"{self.name} cannot be read: the server or file is not there, the connection ended, the rights "
                "are missing, or the statement is wrong. Try it with the database's "
                "own client, and run the same command again. Nothing was spent."
            ) from None


def _says_what(part: str) -> bool:
    return unquote(part.partition("=")[0]) in (TABLE, QUERY)


def _check_names(found: list[str], schema: Schema) -> None:
    if len(set(found)) < len(found):
        raise InvalidData("The statement gives two columns one name; give every column its own.")
    schema.check_names(found, WHAT, with_asides=True)


def _postgres(place: str, statement: str) -> Iterator[pa.Table]:
    driver = import_module("adbc_driver_postgresql.dbapi")
    with driver.connect(place) as connection, connection.cursor() as cursor:
        # A scan that starts in the middle would give a killed run its rows in another order.
        cursor.execute("SET synchronize_seqscans = off")
        cursor.execute(statement)
        with cursor.fetch_record_batch() as reader:
            yield from _tables(reader)


def _duckdb(place: str, statement: str) -> Iterator[pa.Table]:
    driver = import_module("duckdb")
    with driver.connect(place, read_only=True) as connection:
        connection.execute("SET preserve_insertion_order = true")
        yield from _tables(connection.sql(statement).to_arrow_reader(ROWS_AT_ONCE))


def _sqlite(place: str, statement: str) -> Iterator[pa.Table]:
    with closing(sqlite3.connect(f"{Path(place).absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes  # text that is no UTF-8 is one cell's affair, and stops nobody
        cursor = connection.execute(statement)
        yield from _of_cells(cursor, [one[0] for one in cursor.description or ()])


def _of_cells(rows: Iterator[tuple[Any, ...]], names: list[str]) -> Iterator[pa.Table]:
    block: list[tuple[Any, ...]] = []
    first = True
    for row in rows:
        block.append(row)
        if len(block) == ROWS_AT_ONCE:
            yield _table(block, names)
            block, first = [], False
    if block or first:
        yield _table(block, names)


def _table(block: list[tuple[Any, ...]], names: list[str]) -> pa.Table:
    columns = zip(*block, strict=True) if block else ((),) * len(names)
    return pa.table([arrow_column(list(cells)) for cells in columns], names=names)


def _tables(reader: Any) -> Iterator[pa.Table]:
    any_yet = False
    for batch in reader:
        any_yet = True
        yield pa.Table.from_batches([batch])
    if not any_yet:
        yield reader.schema.empty_table()


READERS: dict[str, Callable[[str, str], Iterator[pa.Table]]] = {
    "postgresql": _postgres,
    "postgres": _postgres,
    "duckdb": _duckdb,
    "sqlite": _sqlite,
}
IN_FILES = ("duckdb", "sqlite")


def _quoted(table: str) -> str:
    """Return the name of a table, of a schema if it has a point, as SQL spells names."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
