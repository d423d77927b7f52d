"""A federation on Flower's simulation engine: every site is a node in a process of its own. Started by a test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from flwr.simulation import run_simulation
from sites import NAMES

from mapl.federation.flower import make_client_app, make_server_app
from mapl.federation.plan_folder import PlanFolder
from mapl.federation.site import Site
from mapl.pipeline.runs.folder import RunFolder

HERE, FAILS, MASKED = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "masked"


def site_of(context: Any) -> Site:
    """Be the site of this node; the one that fails does so once it has answered a round.

    It raises an error: processes of this engine are shared by nodes, so that the end of one is no site's own.
    """
    name = NAMES[int(context.node_config["partition-id"])]
    folder = RunFolder(HERE / f"run-{name}")
    if name == FAILS and folder.ledger.exists():
        raise RuntimeError("the disk of this site is gone")
    return Site(PlanFolder(HERE / "plan"), name, str(HERE / f"{name}.parquet"), folder)


if __name__ == "__main__":
    run_simulation(
        make_server_app(HERE / "plan", HERE / "together", masked=MASKED),
        make_client_app(site_of),
        num_supernodes=len(NAMES),
        backend_config={"client_resources": {"num_cpus": 1}, "init_args": {"include_dashboard": False}},
    )
