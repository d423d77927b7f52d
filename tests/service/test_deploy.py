"""The files for deployment say what the code does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from mapl.cli import app

DEPLOY = Path(__file__).parents[2] / "deploy"


def serve_options() -> set[str]:
    serve = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    return {name for parameter in serve.params for name in parameter.opts}


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "mapl.service"])
def test_every_option_of_serve_exists(name: str) -> None:
    commands = re.findall(r"serve\b.*", (DEPLOY / name).read_text())
    named = {option for command in commands for option in re.findall(r"--[a-z-]+", command)}
    assert named
    assert named <= serve_options()


def test_the_environment_of_the_compose_file_is_read() -> None:
    serve = get_command(app).commands["serve"]  # type: ignore[attr-defined]
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
