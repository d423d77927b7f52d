"""A pytest plugin: end the session unless the mapl that is tested, here and in child processes, is the mutant's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WHERE = "MAPL_MUTANT"
"""The environment variable that names the folder of the mutated package."""
STRANGER = 77
"""The exit code of a session that would have tested another mapl."""


def pytest_sessionstart(session: pytest.Session) -> None:
    import mapl

    told = "import mapl; print(mapl.__file__)"
    child = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    wanted = Path(os.environ[WHERE]).resolve()
    for found in (str(mapl.__file__), child.stdout.strip()):
        if Path(found).resolve().parent != wanted:
            pytest.exit(f"mapl was imported from {found}, not from the mutant in {wanted}", returncode=STRANGER)
