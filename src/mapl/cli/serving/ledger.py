"""``mapl ledger``: look at what was spent, check it, export it, copy it, and unlock a restored copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import typer

from mapl.cli.console import out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.errors import InvalidParameter, PlanMismatch
from mapl.release.statement.statement import to_json

if TYPE_CHECKING:
    from mapl.release.ledger.chain import Record
    from mapl.release.ledger.sql.sql_ledger import SqlLedger

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Look at the ledger of a run, check, export, copy or unlock it.",
)

RUN = typer.Argument(metavar="RUN", help="The folder of a run, a ledger file, or the address of a ledger.")
LEDGER = option(
    panels.CHAIN, "Where the run keeps its ledger if not in its folder: sqlite:///PATH or postgresql://...", None
)
AS_JSON = option(panels.RUNNING, "Print one JSON object.", False, "--json")
HEAD = option(
    panels.CHAIN,
    "A head that was exported or printed before, HASH or NUMBER:HASH; it must be part of the chain.",
    None,
)


@app.command()
def show(run: str = RUN, ledger: str | None = LEDGER, as_json: bool = AS_JSON) -> None:
    """Print what was spent of what is allowed. Free, and nothing private is printed."""
    with _opened(run, ledger) as book:
        facts = {**_summary(book.entries()), "locked": book.locked, "rolled_back": book.rolled_back}
        facts["keys"] = len(book.keys())
    if as_json:
        typer.echo(to_json(facts))
        return
    for name, stage in facts["stages"].items():
        ended = "; it has ended" if stage["halted"] else ""
        out.print(
            f"{name}: {stage['answered']} of at most {stage['most_answered']} answers, "
            f"{stage['abstained']} of at most {stage['most_abstained']} abstentions{ended}.",
            soft_wrap=True,
        )
    out.print(f"{facts['entries']} entries; the head is {facts['head']}.", soft_wrap=True)
    if facts["rolled_back"]:
        out.print(
            "Entries are missing that were seen before: it was put back to an earlier state, and nothing new is "
            "answered from it. Put the newest ledger back.",
            soft_wrap=True,
        )
    elif facts["locked"]:
        out.print(
            "The ledger is locked, as a copy is: nothing is released from it until mapl ledger unlock.",
            soft_wrap=True,
        )


@app.command()
def verify(run: str = RUN, head: str | None = HEAD, ledger: str | None = LEDGER, as_json: bool = AS_JSON) -> None:
    """Check every entry, answer, secret and question against the hash chain."""
    with _opened(run, ledger) as book:
        book.verify(seen=None if head is None else _hash(head))
        facts = {"sound": True, "entries": len(book.entries()), "head": book.head}
    if as_json:
        typer.echo(to_json(facts))
        return
    out.print(f"The chain of {facts['entries']} entries is sound; its head is {facts['head']}.", soft_wrap=True)


@app.command()
def export(
    run: str = RUN,
    to: Path | None = option(
        panels.RUNNING, "A new file for the chain.", None, "--out", show_default="standard output"
    ),
    ledger: str | None = LEDGER,
    as_json: bool = option(
        panels.RUNNING, "Print one JSON object instead of one line for each entry.", False, "--json"
    ),
) -> None:
    """Write the public chain as JSON, one entry on a line. Keep it elsewhere: its last hash unlocks a backup."""
    from mapl.release.files.write_once import write_once

    with _opened(run, ledger) as book:
        entries = book.export()
    text = to_json({"entries": entries}) if as_json else "\n".join(map(to_json, entries))
    if to is None:
        typer.echo(text)
        return
    try:
        write_once(to, (text + "\n").encode())
    except FileExistsError:
        raise InvalidParameter(f"{to} is there already; choose a new file with --out.") from None


@app.command()
def backup(
    run: str = RUN,
    file: Path = typer.Argument(metavar="FILE", help="A new file for the copy; it holds secrets, keep it private."),
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Write a copy that is locked. The run may go on meanwhile."""
    from mapl.release.ledger.sqlite import SqliteLedger

    with _opened(run, ledger) as book:
        if not isinstance(book, SqliteLedger):
            raise InvalidParameter(
                "A ledger in PostgreSQL is copied with its own pg_dump; what is restored from that is locked."
            )
        book.backup(file)
    with SqliteLedger(file) as copy:
        copy.verify()
        facts = {"file": str(file), "head": copy.head, "locked": copy.locked}
    if as_json:
        typer.echo(to_json(facts))
        return
    out.print(f"{file} is a locked copy up to the head {facts['head']}.", soft_wrap=True)


@app.command()
def unlock(
    run: str = RUN,
    head: str = option(panels.CHAIN, "The newest head that was exported or printed; it must be in the chain.", ...),
    ledger: str | None = LEDGER,
    as_json: bool = AS_JSON,
) -> None:
    """Let a restored copy spend, if nothing up to the newest exported head is missing from it.

    Only do so if no other copy is in use: two copies would each spend the whole budget. Answers that were given
    after that head and are not in the copy would be spent unseen, so export the chain often.
    """
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.service.watching.witness import NotedHead

    with _opened(run, ledger) as book:
        if Path(run).is_dir():
            NotedHead(RunFolder(Path(run)).head_note).check(book)
        book.unlock(_hash(head))
        facts = {"locked": book.locked, "head": book.head}
    if as_json:
        typer.echo(to_json(facts))
        return
    out.print(f"The ledger is unlocked; its head is {facts['head']}.", soft_wrap=True)


def _hash(head: str) -> str:
    """Return the hash of a head that somebody noted, with its number or without."""
    from mapl.release.ledger.head_mark import HeadMark

    return HeadMark.read(head).hash


def _summary(entries: list[Record]) -> dict[str, Any]:
    """Return the counters of every stage that has begun."""
    if not entries:
        raise PlanMismatch("The ledger is empty: no run has begun in it.")
    newest = {entry.stage: entry for entry in entries if entry.stage}
    stages = {
        stage: {
            "answered": entry.all_answered,
            "most_answered": entry.most_answered,
            "abstained": entry.all_abstained,
            "most_abstained": entry.most_abstained,
            "halted": entry.kind == "halted",
        }
        for stage, entry in newest.items()
    }
    plan = entries[0].told()["plan"]
    return {"plan": plan, "entries": len(entries), "head": entries[-1].hash, "stages": stages}


@contextmanager
def _opened(run: str, address: str | None) -> Iterator[SqlLedger]:
    """Open a ledger that is there already."""
    from mapl.release.ledger.opening import open_existing_ledger

    with open_existing_ledger(*_address_of(run, address)) as ledger:
        yield ledger


def _address_of(run: str, address: str | None) -> tuple[str, str]:
    """Return the address of a run's ledger, and the digest of its plan if its folder tells."""
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.planning.plan import Plan

    if ":" in run and not Path(run).exists():
        return run, ""
    folder = RunFolder(Path(run))
    if address is None:
        return f"sqlite:///{quote(str(folder.ledger if folder.path.is_dir() else folder.path))}", ""
    try:
        return address, Plan.from_json((folder.public / "plan.json").read_text(encoding="utf-8")).digest
    except OSError:
        raise InvalidParameter(
            f"{run} holds no run; name the folder that mapl teach or mapl learn wrote."
        ) from None
