"""``mapl serve``: answer questions over HTTP until the budget for them is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mapl.cli.console import tell, warn
from mapl.cli.dialect import panels
from mapl.cli.options.running import AsJson
from mapl.cli.options.service_extra import service_extra
from mapl.release.statement.statement import to_json

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    run: Path = typer.Argument(
        metavar="RUN", help="The folder that mapl teach wrote, or one that holds several such."
    ),
    host: str = typer.Option("127.0.0.1", help="The address to listen at.", rich_help_panel=panels.SERVER),
    port: int = typer.Option(8000, min=0, max=65535, help="The port to listen at.", rich_help_panel=panels.SERVER),
    ledger: str | None = typer.Option(
        None,
        envvar="MAPL_LEDGER",
        help="sqlite:///FILE or postgresql://...",
        show_default="RUN/private/ledger.sqlite",
        rich_help_panel=panels.SERVER,
    ),
    student: Path | None = typer.Option(
        None, help="A student.skops, or the run it is in, for free predictions.", rich_help_panel=panels.SERVER
    ),
    workers: int = typer.Option(
        1, min=1, max=64, help="Processes; all of them share the ledger.", rich_help_panel=panels.SERVER
    ),
    witness: Path | None = typer.Option(
        None,
        help="A file on another disk that is told the head with every answer; a ledger without it is refused.",
        rich_help_panel=panels.SERVER,
    ),
    head: str | None = typer.Option(
        None,
        metavar="HEAD",
        help="A head you noted, HASH or NUMBER:HASH; a ledger without it is refused.",
        rich_help_panel=panels.SERVER,
    ),
    rate: float | None = typer.Option(
        None,
        min=0.001,
        help="Rows per second, API key and worker, on average.",
        show_default="50000",
        rich_help_panel=panels.REQUESTS,
    ),
    most_rows: int | None = typer.Option(
        None,
        "--most-rows",
        "--rows",
        min=1,
        help="Rows that one request may have.",
        show_default="10000",
        rich_help_panel=panels.REQUESTS,
    ),
    tick: float | None = typer.Option(
        None,
        help="Replies leave after whole multiples of so many milliseconds.",
        show_default="2",
        rich_help_panel=panels.REQUESTS,
    ),
    allow_host: list[str] = typer.Option(
        [],
        help="A name this server may be called by; repeatable.",
        show_default="any",
        rich_help_panel=panels.REQUESTS,
    ),
    access_log: bool = typer.Option(
        False,
        help="Write id, method, route, status, caller and milliseconds of every request.",
        rich_help_panel=panels.RUNNING,
    ),
    alert_at: list[float] = typer.Option(
        [],
        min=0.0,
        max=0.999,
        help="A share of the budget left at which to tell; repeatable.",
        show_default="0.2, 0.05, 0",
        rich_help_panel=panels.RUNNING,
    ),
    alert_url: str | None = typer.Option(
        None,
        envvar="MAPL_ALERT_URL",
        help="An address that is told, too, by POST of a JSON object.",
        rich_help_panel=panels.RUNNING,
    ),
    telemetry_url: str | None = typer.Option(
        None,
        envvar="MAPL_TELEMETRY_URL",
        help="Where spans of requests are sent, by OTLP over HTTP.",
        show_default="nowhere",
        rich_help_panel=panels.RUNNING,
    ),
    as_json: AsJson = False,
) -> None:
    """Serve a taught run: POST /v1/answers and the rest of the API, described at /openapi.json.

    Every answer is on record, on disk, before it leaves. SIGTERM or Ctrl-C: requests under way are answered first.
    Put a proxy with TLS before it; API keys travel in a header. Of several runs, each is at /runs/NAME/; SIGHUP has
    their folder looked at again.
    """
    service_extra("Servers")
    from mapl.service.serving import Opening
    from mapl.service.serving import serve as run_server
    from mapl.service.settings import ServerSettings

    chosen: dict[str, Any] = {
        "rows_per_second": rate,
        "burst": None if rate is None else max(1, round(2 * rate)),
        "most_rows": most_rows,
        "tick": None if tick is None else tick / 1000,
        "alert_at": tuple(alert_at) or None,
    }
    settings = ServerSettings(
        **{name: value for name, value in chosen.items() if value is not None},
        hosts=tuple(allow_host),
        access_log=access_log,
        alert_url=alert_url,
        telemetry_url=telemetry_url,
    )
    if host not in LOOPBACK:
        warn("this server is reachable from other machines; put a proxy with TLS before it.")
    name = f"[{host}]" if ":" in host else host

    def ready(port: int) -> None:
        if as_json:
            typer.echo(to_json({"run": str(run), "url": f"http://{name}:{port}", "workers": workers}))
        tell(f"mapl: serving {run} at http://{name}:{port} (API at /openapi.json); Ctrl-C ends it.")

    opening = Opening(run, ledger, student, settings, witness, head)
    run_server(opening, host=host, port=port, workers=workers, ready=ready)
