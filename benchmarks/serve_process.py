"""One server process of benchmarks/serve.py: prints its port and a key, and serves until it is told to stop.

python serve_process.py RUN LEDGER [--most-waiting N]
"""

from __future__ import annotations

import argparse
import os
import socket
from pathlib import Path

import uvicorn

from mapl.pipeline.online import OnlineRun
from mapl.release.open_ledger import open_ledger
from mapl.service.app import create_app
from mapl.service.service import Service
from mapl.service.settings import Settings
from mapl.teachers.lifeline import die_with_parent


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("run", type=Path)
    options.add_argument("ledger")
    options.add_argument("--most-waiting", type=int, default=20_000)
    given = options.parse_args()
    die_with_parent(os.getppid())
    run = OnlineRun.read(given.run)
    ledger = open_ledger(given.ledger)
    # Calls of the one key of this benchmark are not limited; everything else is as `mapl serve` has it.
    settings = Settings(most_waiting=given.most_waiting, requests_per_second=1e6, burst=1_000_000)
    service = Service.open(run, ledger, run.coins(), settings=settings)
    token, record = service.entrance.maker.new("load", ("ask",))
    ledger.add_key(record)
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], token, flush=True)
    config = uvicorn.Config(
        create_app(service), http="httptools", loop="uvloop", lifespan="on", log_config=None, access_log=False
    )
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
