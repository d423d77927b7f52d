"""``mapl serve``: answer questions over HTTP until the budget for them is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mapl.cli.console import tell, warn
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.running import AsJson
from mapl.cli.options.service_extra import service_extra
from mapl.release.statement.statement import to_json

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    run: Path = typer.Argument(
        metavar="RUN", help="The folder that mapl teach wrote, or one that holds several such."
    ),
    host: str = option(panels.SERVER, "The address to listen at.", "127.0.0.1"),
    port: int = option(panels.SERVER, "The port to listen at.", 8000, min=0, max=65535),
    ledger: str | None = option(
        panels.SERVER,
        "sqlite:///FILE or postgresql://...",
        None,
        envvar="MAPL_LEDGER",
        show_default="RUN/private/ledger.sqlite",
    ),
    student: Path | None = option(
        panels.SERVER, "A student.skops, or the run it is in, for free predictions.", None
    ),
    workers: int = option(panels.SERVER, "Processes; all of them share the ledger.", 1, min=1, max=64),
    witness: Path | None = option(
        panels.SERVER,
        "A file on another disk that is told the head with every answer; a ledger without it is refused.",
        None,
    ),
    head: str | None = option(
        panels.SERVER,
        "A head you noted, HASH or NUMBER:HASH; a ledger without it is refused.",
        None,
        metavar="HEAD",
    ),
    rate: float | None = option(
        panels.REQUESTS, "Rows per second, API key and worker, on average.", None, min=0.001, show_default="50000"
    ),
    most_rows: int | None = option(
        panels.REQUESTS, "Rows that one request may have.", None, min=1, show_default="10000"
    ),
    tick: float | None = option(
        panels.REQUESTS, "Replies leave after whole multiples of so many milliseconds.", None, show_default="2"
    ),
    allow_host: list[str] = option(
        panels.REQUESTS, "A name this server may be called by; repeatable.", [], show_default="any"
    ),
    access_log: bool = option(
        panels.RUNNING, "Write id, method, route, status, caller and milliseconds of every request.", False
    ),
    alert_at: list[float] = option(
        panels.RUNNING,
        "A share of the budget left at which to tell; repeatable.",
        [],
        min=0.0,
        max=0.999,
        show_default="0.2, 0.05, 0",
    ),
    alert_url: str | None = option(
        panels.RUNNING, "An address that is told, too, by POST of a JSON object.", None, envvar="MAPL_ALERT_URL"
    ),
    telemetry_url: str | None = option(
        panels.RUNNING,
        "Where spans of requests are sent, by OTLP over HTTP.",
        None,
        envvar="MAPL_TELEMETRY_URL",
        show_default="nowhere",
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
