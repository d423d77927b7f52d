"""One address for every kind of ledger: a file, a database, or this process's memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from mapl.errors import InvalidParameter
from mapl.release.ledger.inquiries import OnlineLedger
from mapl.release.ledger.memory import MemoryLedger

if TYPE_CHECKING:
    from mapl.release.ledger.sql.sql_ledger import SqlLedger

MEMORY = "memory:"
FILE = "sqlite:///"
SERVER = ("postgresql://", "postgres://")


def open_ledger(url: str, *, run: str = "") -> OnlineLedger:
    """Return the ledger at an address, making an empty one where there is none.

    Parameters
    ----------
    url
        sqlite:///relative/path, sqlite:////absolute/path, postgresql://user@host/database with ?schema=NAME where
        several runs share a database, or memory: for tests, which forgets everything.
    run
        The digest of the run's plan: without a schema in the address, it names the run's own.

    Examples
    --------
    >>> open_ledger("memory:")
    MemoryLedger(0 entries)
    """
    return MemoryLedger() if url == MEMORY else _durable(url, run, create=True)


def open_existing_ledger(url: str, run: str = "") -> SqlLedger:
    """Return the durable ledger at an address, as `open_ledger` does, but refuse an address where there is none."""
    return _durable(url, run, create=False)


def _durable(url: str, run: str, *, create: bool) -> SqlLedger:
    if url.startswith(FILE) and len(url) > len(FILE):
        from mapl.release.ledger.sqlite import SqliteLedger

        path = Path(unquote(url[len(FILE) :]))
        if not create and not path.is_file():
            raise InvalidParameter(f"There is no ledger at {path}; name the folder of a run or the ledger's file.")
        return SqliteLedger(path)
    if url.startswith(SERVER):
        return _postgres(url, run, create=create)
    raise InvalidParameter(
        "The address of the ledger is of no known kind; it begins with sqlite:/// or postgresql://."
    )


def _postgres(url: str, run: str, *, create: bool) -> SqlLedger:
    try:
        from mapl.release.ledger.postgres import PostgresLedger
    except ImportError:
        raise InvalidParameter(
            "A ledger in PostgreSQL needs psycopg; install it with pip install 'mapl[serve]', or take a ledger "
            "file (sqlite:///path)."
        ) from None
    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    named = [value for name, value in options if name == "schema"]
    others = urlencode([(name, value) for name, value in options if name != "schema"], quote_via=quote)
    schema = named[-1] if named else f"mapl_{run[:16]}" if run else "mapl"
    return PostgresLedger(urlunsplit(parts._replace(query=others)), schema=schema, create=create)
