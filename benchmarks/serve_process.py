"""One server process of benchmarks/serve.py: prints its port and its keys, and serves until it is told to stop.

python serve_process.py RUN LEDGER [--most-waiting N] [--keys N]
"""

from __future__ import annotations

import argparse
import os
import socket
from pathlib import Path

import uvicorn

from mapl.pipeline.online.run import OnlineRun
from mapl.release.ledger.opening import open_ledger
from mapl.service.access.connection import protocol_within
from mapl.service.app import create_app
from mapl.service.service import Service
from mapl.service.settings import ServerSettings
from mapl.teachers.workers.lifeline import die_with_parent


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("run", type=Path)
    options.add_argument("ledger")
    options.add_argument("--most-waiting", type=int, default=20_000)
    options.add_argument("--keys", type=int, default=1)
    given = options.parse_args()
    die_with_parent(os.getppid())
    run = OnlineRun.read(given.run)
    ledger = open_ledger(given.ledger)
    # Calls of the one key of this benchmark are not limited; everything else is as `mapl serve` has it.
    settings = ServerSettings(most_waiting=given.most_waiting, rows_per_second=1e9, burst=1_000_000_000)
    service = Service.open(run, ledger, run.coins(), settings=settings)
    made = [service.entrance.maker.new("load", ("ask",)) for _ in range(given.keys)]
    for _, record in made:
        ledger.add_key(record)
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], *(token for token, _ in made), flush=True)
    config = uvicorn.Config(
        create_app(service),
        http=protocol_within(settings),
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
    )
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
