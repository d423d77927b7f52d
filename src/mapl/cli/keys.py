"""``mapl keys``: who may call a server, and for what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from mapl.cli.console import out, tell
from mapl.cli.service_extra import service_extra
from mapl.release.statement import to_json

if TYPE_CHECKING:
    from mapl.pipeline.online import OnlineRun
    from mapl.release.online import KeyRecord, OnlineLedger

app = typer.Typer(no_args_is_help=True, help="API keys of a server: create, list, revoke.")

RUN = typer.Argument(metavar="RUN", help="The folder that mapl teach wrote.")
LEDGER = typer.Option(None, envvar="MAPL_LEDGER", help="Where the server's ledger is, if not in RUN/private.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON object.")


@app.command()
def create(
    run: Path = RUN,
    name: str = typer.Option(help="Whose key it is, for the list."),
    scope: str = typer.Option("ask", help="What it is for, separated by commas: ask, read, admin."),
    most: int | None = typer.Option(
        None, min=1, help="How many new questions it may ask.", show_default="no limit"
    ),
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Create an API key and print it, once: only a digest of it is kept."""
    service_extra("API keys")
    from mapl.pipeline.online import OnlineRun
    from mapl.service.keys import KeyMaker

    taught = OnlineRun.read(run)
    token, record = KeyMaker.of(taught.service_key).new(name, [one.strip() for one in scope.split(",")], most=most)
    with _opened(taught, ledger) as book:
        book.add_key(record)
    if as_json:
        typer.echo(to_json({**_public(record), "key": token}))
        return
    typer.echo(token)
    tell(f"Key {record.id} of {name} ({', '.join(record.scopes)}). It is shown this once; keep it like a password.")


@app.command("list")
def show(run: Path = RUN, ledger: str | None = LEDGER, as_json: bool = AS_JSON) -> None:
    """List the API keys; the keys themselves are nowhere."""
    service_extra("API keys")
    from mapl.pipeline.online import OnlineRun

    with _opened(OnlineRun.read(run), ledger) as book:
        records = book.keys()
    if as_json:
        typer.echo(to_json({"keys": [_public(record) for record in records]}))
        return
    table = Table("id", "name", "scopes", "asked", "most", "state", title="API keys", title_justify="left")
    for one in records:
        most = "no limit" if one.most is None else str(one.most)
        state = "revoked" if one.revoked else "valid"
        table.add_row(one.id, one.name, ", ".join(one.scopes), str(one.taken), most, state)
    out.print(table)


@app.command()
def revoke(
    run: Path = RUN,
    id: str = typer.Argument(metavar="ID", help="The id of the key, as mapl keys list shows it."),
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Revoke an API key for good; running servers refuse it within a second."""
    service_extra("API keys")
    from mapl.pipeline.online import OnlineRun

    with _opened(OnlineRun.read(run), ledger) as book:
        book.revoke_key(id)
    if as_json:
        typer.echo(to_json({"id": id, "revoked": True}))
        return
    tell(f"Key {id} is revoked.")


@contextmanager
def _opened(run: OnlineRun, ledger: str | None) -> Iterator[OnlineLedger]:
    """Open the ledger that the server of a run has or will have; not a new one in place of one that was lost."""
    from mapl.release.open_ledger import existing_ledger, open_ledger
    from mapl.service.noted_head import NotedHead
    from mapl.service.serving import ledger_url

    noted = run.folder.noted_head
    book = (existing_ledger if noted.exists() else open_ledger)(
        ledger_url(run.folder.path, ledger), run=run.plan.digest
    )
    try:
        NotedHead(noted).check(book)
        yield book
    finally:
        book.close()


def _public(record: KeyRecord) -> dict[str, object]:
    """Return what may be shown of a key."""
    return {
        "id": record.id,
        "name": record.name,
        "scopes": list(record.scopes),
        "most": record.most,
        "taken": record.taken,
        "revoked": record.revoked,
    }
