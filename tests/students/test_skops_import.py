"""skops is imported without the libraries that it has no need of, and leaves them importable."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from mapl.students.file.skops_import import DOORS, import_skops
assert import_skops().dumps([1])
assert "torch" not in sys.modules and not set(DOORS) & set(sys.modules)
"""


def test_torch_stays_outside_until_somebody_asks_for_it() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True)
