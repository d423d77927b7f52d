"""Sites and coordinator as real Flower processes on this machine, one of which fails in the middle."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sites import NAMES, Federation, federation

from mapl.errors import InvalidParameter
from mapl.federation.flower import site_of_node

needs_flower = pytest.mark.skipif(find_spec("flwr") is None, reason="flwr is not installed (mapl[flower])")
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Nothing may leave this machine."""


def surroundings(three: Federation) -> dict[str, str]:
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    folder = str(three.here / "flower")
    return {**os.environ, **QUIET, "PATH": programs, "PYTHONPATH": paths, "FLWR_HOME": folder}


def simulate(three: Federation, fails: str, how: str) -> None:
    script = Path(__file__).parent / "flower_run.py"
    given = [sys.executable, str(script), str(three.here), fails, how]
    subprocess.run(given, env=surroundings(three), check=True, timeout=7200, cwd=three.here)


APP = {
    "pyproject.toml": """
[project]
name = "three-sites"
version = "1.0.0"
description = "Three sites"
license = "Apache-2.0"
[tool.flwr.app]
publisher = "mapl"
[tool.flwr.app.components]
serverapp = "three_sites:server_app"
clientapp = "three_sites:client_app"
[tool.flwr.app.config]
plan = "plan"
out = "together"
""",
    "three_sites.py": """
import os
import signal
from pathlib import Path

from mapl.federation.flower import make_client_app, make_server_app, site_of_node


def site_of(context):
    site = site_of_node(context)
    node = Path(f"{site.folder.path}.dies")
    if node.exists() and site.folder.ledger.exists():  # it has answered a round, and is asked the next one
        os.kill(int(node.read_text()), signal.SIGKILL)
        os._exit(1)
    return site


client_app = make_client_app(site_of)
server_app = make_server_app()
""",
}


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until somebody listens, for as long as the process lives that should."""
    while process.poll() is None:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("the SuperLink ended")


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@contextmanager
def started(three: Federation, program: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of Flower's until it is no longer needed."""
    given = [str(Path(sys.executable).parent / program), "--insecure", *words]
    with subprocess.Popen(given, env=surroundings(three), cwd=three.here) as process:
        try:
            yield process
        finally:
            process.terminate()


def deploy(three: Federation, dies: str) -> None:
    """Carry a plan out by a SuperLink and a SuperNode for each site, one of which is killed in the middle."""
    for name, content in APP.items():
        (three.here / "app").mkdir(exist_ok=True)
        (three.here / "app" / name).write_text(content)
    port = free_port()
    link = f"127.0.0.1:{port}"
    (three.here / "flower").mkdir()
    known = f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "{link}"\ninsecure = true\n'
    (three.here / "flower" / "config.toml").write_text(known)
    with ExitStack() as stack:
        wait_for(stack.enter_context(started(three, "flower-superlink", "--port", str(port))), port)
        for name in NAMES:
            told = f'plan="plan" name="{name}" private="{name}.parquet" out="run-{name}"'
            words = ("--superlink", link, "--port", str(free_port()), "--node-config", told)
            node = stack.enter_context(started(three, "flower-supernode", *words))
            if name == dies:
                (three.here / f"run-{name}.dies").write_text(str(node.pid))
        flwr = str(Path(sys.executable).parent / "flwr")
        given = [flwr, "run", "app", "here", "--stream"]
        subprocess.run(given, env=surroundings(three), check=True, timeout=7200, cwd=three.here)


@pytest.mark.long
@needs_flower
@pytest.mark.parametrize(
    ("method", "fails", "how"),
    [("cells", "nobody", "plain"), ("moments", "south", "plain"), ("moments", "west", "masked")],
)
def test_flower_carries_what_files_carry(method: str, fails: str, how: str, tmp_path: Path) -> None:
    three = federation(tmp_path, method, **({"n_cells": 30} if method == "cells" else {"n_rows": 1800}))
    simulate(three, fails, how)
    check_sent(three, fails, how)


@pytest.mark.long
@needs_flower
def test_a_site_whose_node_is_killed_is_left_out_by_the_deployment_engine(tmp_path: Path) -> None:
    """SuperLink and SuperNodes are processes; that a node is gone is found out by Flower's heartbeats."""
    three = federation(tmp_path, "moments", n_rows=1800)
    deploy(three, "south")
    check_sent(three, "south", "plain")


def check_sent(three: Federation, fails: str, how: str) -> None:
    """Compare what the coordinator published with what the sites say has left them."""
    public = three.here / "together" / "public"
    assert (public / "student.skops").exists()
    told = json.loads((public / "sites.json").read_text())
    last = max(one["round"] for one in told)
    assert {one["site"] for one in told if one["round"] == last} == set(NAMES) - {fails}
    assert {one["site"] for one in told if one["round"] == 1} == set(NAMES)
    said: dict[int, list[Any]] = {}
    for one in told:
        sent = json.loads((three.here / f"run-{one['site']}/public/{one['site']}-{one['round']}.json").read_text())
        assert sent["statement"]["guaranteed_epsilon"] == 2.0
        # Each is, byte for byte, what the site's own folder says has left it, or else masked.
        assert (sent["seal"] == one["seal"]) == (how == "plain")
        said.setdefault(one["round"], []).append(sent["numbers"])
    if last > 1:
        heard = json.loads((public / f"rounds-{last - 1}.json").read_text())["rounds"]
        for number, one in enumerate(heard, start=1):
            assert one["numbers"] == [sum(column) for column in zip(*said[number], strict=True)]


@needs_flower
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages that Flower holds back
def test_flowers_own_masks_follow_from_32_bits() -> None:
    """Why they are not used: all seeds of which the words have the same sum, bit by bit, give the same mask."""
    from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen

    seeds = (bytes(32), b"abcd" * 8, os.urandom(16) * 2)
    masks = [pseudo_rand_gen(seed, 1 << 32, [(50,)])[0].tolist() for seed in seeds]
    assert masks[0] == masks[1] == masks[2]


def test_a_node_is_told_what_its_configuration_lacks() -> None:
    class Node:
        node_config: dict[str, Any] = {"plan": "plan", "name": "north", "private": "north.csv"}  # noqa: RUF012

    with pytest.raises(InvalidParameter, match="lacks 'out'"):
        site_of_node(Node())
