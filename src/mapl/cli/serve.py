"""``mapl serve``: answer questions over HTTP until the budget for them is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mapl.cli.console import tell, warn
from mapl.cli.service_extra import service_extra

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    run: Path = typer.Argument(metavar="RUN", help="The folder that mapl teach wrote."),
    host: str = typer.Option("127.0.0.1", help="The address to listen at."),
    port: int = typer.Option(8000, min=0, max=65535, help="The port to listen at."),
    ledger: str | None = typer.Option(
        None,
        envvar="MAPL_LEDGER",
        help="sqlite:///FILE or postgresql://...",
        show_default="RUN/private/ledger.sqlite",
    ),
    student: Path | None = typer.Option(None, help="A student.skops, or the run it is in, for free predictions."),
    workers: int = typer.Option(1, min=1, max=64, help="Processes; all of them share the ledger."),
    rate: float | None = typer.Option(
        None, min=0.001, help="Requests per second, API key and worker, on average.", show_default="5000"
    ),
    rows: int | None = typer.Option(None, min=1, help="Rows that one request may have.", show_default="10000"),
    tick: float | None = typer.Option(
        None, help="Replies leave after whole multiples of so many milliseconds.", show_default="2"
    ),
    allow_host: list[str] = typer.Option(
        [], help="A name this server may be called by; repeatable.", show_default="any"
    ),
    access_log: bool = typer.Option(False, help="Write method, route, status and caller of every request."),
) -> None:
    """Serve a taught run: POST /v1/answers and the rest of the API, described at /openapi.json.

    Every answer is on record, on disk, before it leaves. SIGTERM or Ctrl-C: requests under way are answered first.
    Put a proxy with TLS before it; API keys travel in a header.
    """
    service_extra("Servers")
    from mapl.service.serving import Opening
    from mapl.service.serving import serve as run_server
    from mapl.service.settings import Settings

    chosen: dict[str, Any] = {
        "requests_per_second": rate,
        "burst": None if rate is None else max(1, round(2 * rate)),
        "most_rows": rows,
        "tick": None if tick is None else tick / 1000,
    }
    settings = Settings(
        **{name: value for name, value in chosen.items() if value is not None},
        hosts=tuple(allow_host),
        access_log=access_log,
    )
    if host not in LOOPBACK:
        warn("this server is reachable from other machines; put a proxy with TLS before it.")
    name = f"[{host}]" if ":" in host else host

    def ready(port: int) -> None:
        tell(f"mapl: serving {run} at http://{name}:{port} (API at /openapi.json); Ctrl-C ends it.")

    run_server(Opening(run, ledger, student, settings), host=host, port=port, workers=workers, ready=ready)
