"""``mapl keys``: who may call a server, and for what."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from mapl.cli.console import out, tell
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.service_extra import service_extra
from mapl.release.statement.statement import to_json

if TYPE_CHECKING:
    from mapl.pipeline.online.run import OnlineRun
    from mapl.release.ledger.inquiries import Author, KeyRecord, OnlineLedger

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="API keys of a server: create, list, rotate, revoke, log."
)

RUN = typer.Argument(metavar="RUN", help="The folder that mapl teach wrote.")
LEDGER = option(panels.SERVER, "Where the server's ledger is, if not in RUN/private.", None, envvar="MAPL_LEDGER")
AS_JSON = option(panels.RUNNING, "Print one JSON object.", False, "--json")
ID = typer.Argument(metavar="ID", help="The id of the key, as mapl keys list shows it.")
EXPIRES = option(
    panels.KEY, "When it ends: 90d, 12h, a day (2027-01-31) or a time, in UTC.", None, show_default="never"
)


@app.command()
def create(
    run: Path = RUN,
    name: str = option(panels.KEY, "Whose key it is, for the list."),
    scope: str = option(panels.KEY, "What it is for, separated by commas: ask, read, admin.", "ask"),
    most: int | None = option(
        panels.KEY, "How many new questions it may ask.", None, min=1, show_default="no limit"
    ),
    expires: str | None = EXPIRES,
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Create an API key and print it, once: only a digest of it is kept."""
    service_extra("API keys")
    from mapl.pipeline.online.run import OnlineRun
    from mapl.service.access.keys import KeyMaker

    taught = OnlineRun.read(run)
    token, record = KeyMaker.of(taught.service_key).new(
        name, [one.strip() for one in scope.split(",")], most=most, expires=_end(expires)
    )
    with _opened(taught, ledger) as book:
        book.add_key(record, by=_author())
    _tell_new(record, token, as_json=as_json)


@app.command()
def rotate(
    run: Path = RUN,
    id: str = ID,
    expires: str | None = option(
        panels.KEY,
        "When the new one ends: 90d, 12h, a day (2027-01-31) or a time, in UTC.",
        None,
        show_default="when the old one would have",
    ),
    overlap: str | None = option(
        panels.KEY, "How long the old key stays valid beside the new one: 12h, 7d.", None, show_default="not at all"
    ),
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Replace an API key by a new one of the same name, scopes and what is left of its cap; print it, once.

    A key with a cap is replaced without overlap, since both together could ask more than it.
    """
    service_extra("API keys")
    from mapl.pipeline.online.run import OnlineRun
    from mapl.service.access.keys import KeyMaker
    from mapl.service.access.rotation import rotate_key

    taught = OnlineRun.read(run)
    with _opened(taught, ledger) as book:
        maker, until = KeyMaker.of(taught.service_key), _end(overlap)
        token, record = rotate_key(
            book, maker, id, expires=_end(expires), until=until, by=_author(), now=time.time()
        )
    _tell_new(record, token, as_json=as_json, replaced=id)


@app.command()
def log(run: Path = RUN, ledger: str | None = LEDGER, as_json: bool = AS_JSON) -> None:
    """Show who made and ended keys, and when; the chain vouches for it."""
    service_extra("API keys")
    from mapl.pipeline.online.run import OnlineRun
    from mapl.release.ledger.key_log import changes_in
    from mapl.service.access.key_life import end_in_words

    with _opened(OnlineRun.read(run), ledger) as book:
        changes = changes_in(book.key_log())
    if as_json:
        typer.echo(to_json({"changes": [asdict(one) for one in changes]}))
        return
    table = Table("when", "what", "key", "name", "by", title="Changes of API keys", title_justify="left")
    for one in changes:
        until = "" if one.until is None else f" {end_in_words(one.until)}"
        table.add_row(end_in_words(one.at or None), f"{one.did}{until}", one.key, one.name, one.by)
    out.print(table)


@app.command("list")
def show(run: Path = RUN, ledger: str | None = LEDGER, as_json: bool = AS_JSON) -> None:
    """List the API keys; the keys themselves are nowhere."""
    service_extra("API keys")
    from mapl.pipeline.online.run import OnlineRun
    from mapl.service.access.key_life import end_in_words
    from mapl.service.access.keys import key_in_public

    with _opened(OnlineRun.read(run), ledger) as book:
        records = book.keys()
    if as_json:
        typer.echo(to_json({"keys": [key_in_public(record) for record in records]}))
        return
    titles = ("id", "name", "scopes", "asked", "most", "ends", "state")
    table = Table(*titles, title="API keys", title_justify="left")
    for one in records:
        most = "no limit" if one.most is None else str(one.most)
        state = "revoked" if one.revoked else "valid" if one.valid(time.time()) else "ended"
        ends = end_in_words(one.expires)
        table.add_row(one.id, one.name, ", ".join(one.scopes), str(one.taken), most, ends, state)
    out.print(table)


@app.command()
def revoke(
    run: Path = RUN,
    id: str = ID,
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Revoke an API key for good; running servers refuse it within a second."""
    service_extra("API keys")
    from mapl.pipeline.online.run import OnlineRun

    with _opened(OnlineRun.read(run), ledger) as book:
        book.revoke_key(id, by=_author())
    if as_json:
        typer.echo(to_json({"id": id, "revoked": True}))
        return
    tell(f"Key {id} is revoked.")


@contextmanager
def _opened(run: OnlineRun, ledger: str | None) -> Iterator[OnlineLedger]:
    """Open the ledger that the server of a run has or will have; not a new one in place of one that was lost."""
    from mapl.release.ledger.limits import Limits
    from mapl.release.ledger.opening import open_existing_ledger, open_ledger
    from mapl.service.serving import ledger_url
    from mapl.service.watching.witness import NotedHead

    noted = run.folder.head_note
    book = (open_existing_ledger if noted.exists() else open_ledger)(
        ledger_url(run.folder.path, ledger), run=run.plan.digest
    )
    try:
        NotedHead(noted).check(book)
        if not book.records(-1, 1):  # a database that no server has begun yet: changes of keys are entries
            book.open(run.plan.digest, Limits.of_plan(run.plan))
        yield book
    finally:
        book.close()


def _end(text: str | None) -> int | None:
    from mapl.service.access.key_life import end_of_key

    return None if text is None else end_of_key(text, time.time())


def _author() -> Author:
    """Return whoever runs this command, for the log."""
    from mapl.release.ledger.inquiries import Author

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        name = f"user {os.getuid()}"
    return Author(f"{name}, command line", int(time.time()))


def _tell_new(record: KeyRecord, token: str, *, as_json: bool, replaced: str | None = None) -> None:
    from mapl.service.access.keys import key_in_public

    if as_json:
        also = {} if replaced is None else {"replaced": replaced}
        typer.echo(to_json({**key_in_public(record), **also, "key": token}))
        return
    typer.echo(token)
    instead = "" if replaced is None else f" in the place of {replaced}"
    tell(
        f"Key {record.id} of {record.name} ({', '.join(record.scopes)}){instead}. It is shown this once; keep it "
        "like a password."
    )
