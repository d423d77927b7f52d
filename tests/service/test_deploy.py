"""The files for deployment say what the code does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from mapl.cli.verbs import command_of
from mapl.service.app import ROUTES
from mapl.service.serving import PATIENCE

DEPLOY = Path(__file__).parents[2] / "deploy"


def serve_options() -> set[str]:
    serve = command_of("serve")
    return {name for parameter in serve.params for name in parameter.opts}


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "kubernetes.yaml", "mapl.service"])
def test_every_option_of_serve_exists(name: str) -> None:
    commands = re.findall(r"serve\b.*", (DEPLOY / name).read_text())
    named = {option for command in commands for option in re.findall(r"--[a-z-]+", command)}
    assert named
    assert named <= serve_options()


def test_the_environment_of_the_compose_file_is_read() -> None:
    serve = command_of("serve")
    read = {parameter.envvar for parameter in serve.params}
    assert "MAPL_LEDGER" in (DEPLOY / "compose.yaml").read_text()
    assert "MAPL_LEDGER" in read


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "mapl.service"
    # The program is not installed where the unit says, and only that may be complained about.
    unit.write_text((DEPLOY / "mapl.service").read_text().replace("/opt/mapl/bin/mapl", "/bin/true"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--generators=no", str(unit)], capture_output=True, text=True
    )
    complaints = [line for line in checked.stderr.splitlines() if "mapl.service" in line]
    assert complaints == []


def test_the_manifest_describes_two_replicas_that_may_write_to_nothing_private() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    by_kind = {one["kind"]: one for one in documents}
    assert len(by_kind) == len(documents)
    pod = by_kind["Deployment"]["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    assert by_kind["Deployment"]["spec"]["replicas"] == 2
    assert pod["terminationGracePeriodSeconds"] > PATIENCE
    assert server["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {one["mountPath"]: one.get("readOnly", False) for one in server["volumeMounts"]}
    assert mounts["/var/lib/mapl/run"] is True
    assert {one["name"] for one in server["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    ports = {one["name"] for one in server["ports"]}
    probes = {server[name]["httpGet"]["path"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert probes <= {path for _, path, _, _ in ROUTES}
    assert {one["targetPort"] for one in by_kind["Service"]["spec"]["ports"]} <= ports
    chosen = by_kind["Service"]["spec"]["selector"].items()
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert chosen <= by_kind[kind]["spec"]["selector"]["matchLabels"].items()
    (args,) = [server["args"]]
    assert args[0] == "serve"


def test_whoever_stops_a_server_waits_longer_than_it_takes() -> None:
    unit = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "mapl.service").read_text(), re.MULTILINE))
    assert int(unit["TimeoutStopSec"]) > PATIENCE
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert int(compose["services"]["first"]["stop_grace_period"].removesuffix("s")) > PATIENCE


def test_the_proxy_redirects_insists_on_tls_and_does_not_compress() -> None:
    said = (DEPLOY / "nginx.conf").read_text()
    assert "Strict-Transport-Security" in said
    assert "return 308 https://$host$request_uri;" in said
    assert "gzip off;" in said
    assert said.count("{") == said.count("}")
