"""Connections to PostgreSQL that wait for the disk, and what goes wrong with them in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg import errors

from mapl.errors import InvalidParameter, LedgerError

DURABLE = {"synchronous_commit": "on", "fsync": "on", "full_page_writes": "on", "data_sync_retry": "off"}
"""What a server must be set to, so that what it has committed is there after a power cut, and whole.

Without full pages a page that was half written is not mended; a sync that failed must not be tried again as if
nothing were lost.
"""

LOST = (psycopg.OperationalError, psycopg.InterfaceError)


def connect(
    address: str, schema: str, settings: Mapping[str, str], heed: Callable[[errors.Diagnostic], None], name: str
) -> psycopg.Connection[Any]:
    """Open a connection to one schema, or refuse a server whose commits may not be on disk.

    Parameters
    ----------
    settings
        What the connection is set to, whatever the database prefers.
    heed
        Hears of warnings.
    name
        What the ledger is called in messages.
    """
    try:
        connection = psycopg.connect(address, autocommit=True, connect_timeout=10, tcp_user_timeout=20_000)
    except psycopg.ProgrammingError:
        raise InvalidParameter(
            "The address of the PostgreSQL database cannot be read; it looks like postgresql://user@host/database."
        ) from None
    except psycopg.Error as failure:
        raise in_words(name, failure) from None
    try:
        connection.add_notice_handler(heed)
        for setting, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, false)", (setting, value))
        connection.execute("SELECT set_config('search_path', quote_ident(%s), false)", (schema,))
        found = connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (list(DURABLE),))
        odd = [setting for setting, value in sorted(found.fetchall()) if value != DURABLE[setting]]
        if odd:
            wanted = ", ".join(f"{setting} = {DURABLE[setting]}" for setting in odd)
            raise LedgerError(
                f"{name} is on a server that does not wait for its disk, or may not be whole after a power cut; "
                f"set {wanted}, or take another server for the ledger."
            )
    except psycopg.Error as failure:
        connection.close()
        raise in_words(name, failure) from None
    except LedgerError:
        connection.close()
        raise
    return connection


def in_words(name: str, failure: Exception) -> LedgerError:
    """Say what a failure means for whoever runs mapl; nothing of what was to be recorded is quoted."""
    if isinstance(failure, (errors.LockNotAvailable, errors.QueryCanceled)):
        return LedgerError(
            f"Another process keeps {name[0].lower()}{name[1:]} locked; nothing was released. Run again when it "
            "has ended."
        )
    if isinstance(failure, (errors.IntegrityError, errors.DataError, OverflowError)):
        return LedgerError(f"{name} refused an entry that would break the rules of a ledger; nothing was released.")
    if isinstance(failure, (errors.DiskFull, errors.ReadOnlySqlTransaction, errors.IoError)):
        return LedgerError(
            f"{name} cannot be written: the disk is full, read-only or failing. Nothing was released; make room or "
            "repair it, and run again."
        )
    if isinstance(failure, LOST):
        return LedgerError(
            f"{name} cannot be reached, or was lost on the way; nothing was released. Check that the server runs "
            "and lets this user in, and run again."
        )
    return LedgerError(f"{name} cannot be used ({type(failure).__name__}); nothing was released.")
