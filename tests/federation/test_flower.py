"""Sites and coordinator as real Flower processes on this machine, one of which fails in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sites import NAMES, Federation, federation

from mapl.errors import InvalidParameter
from mapl.federation.flower import site_of_node

QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Nothing may leave this machine."""


def simulate(three: Federation, fails: str = "nobody") -> None:
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), *sys.path])
    subprocess.run(
        [sys.executable, str(here / "flower_run.py"), str(three.here), fails],
        env={**os.environ, **QUIET, "PYTHONPATH": paths, "FLWR_HOME": str(three.here / "flower")},
        check=True,
        timeout=500,
        cwd=three.here,
    )


@pytest.mark.long
@pytest.mark.skipif(find_spec("flwr") is None, reason="flwr is not installed (mapl[flower])")
@pytest.mark.parametrize(("method", "fails"), [("cells", "nobody"), ("moments", "south")])
def test_flower_carries_what_files_carry(method: str, fails: str, tmp_path: Path) -> None:
    three = federation(tmp_path, method, **({"n_cells": 30} if method == "cells" else {"n_rows": 1800}))
    simulate(three, fails)
    public = three.here / "together" / "public"
    assert (public / "student.skops").exists()
    told = json.loads((public / "sites.json").read_text())
    last = max(one["round"] for one in told)
    assert {one["site"] for one in told if one["round"] == last} == set(NAMES) - {fails}
    assert {one["site"] for one in told if one["round"] == 1} == set(NAMES)
    for one in told:  # each is, byte for byte, what the site's own folder says has left it
        sent = json.loads((three.here / f"run-{one['site']}/public/{one['site']}-{one['round']}.json").read_text())
        assert sent["seal"] == one["seal"]
        assert sent["statement"]["guaranteed_epsilon"] == 2.0


def test_a_node_is_told_what_its_configuration_lacks() -> None:
    class Node:
        node_config: dict[str, Any] = {"plan": "plan", "name": "north", "private": "north.csv"}  # noqa: RUF012

    with pytest.raises(InvalidParameter, match="lacks 'out'"):
        site_of_node(Node())
