"""The trial of one mutant: a copy of the package with one mistake, and the tests that must fail on it."""

from __future__ import annotations

import atexit
import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mutant import REPOSITORY, SOURCE, Mutant
from only_the_mutant import WHERE

FAILED = 1
"""pytest's exit code where tests failed; others mean that they could not be run."""
LONGEST = 900
"""Seconds after which a trial is given up; a mistake that hangs the tests is none that they noticed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant; ``first`` is the first test that failed on it, empty where none did."""

    mutant: Mutant
    killed: bool
    first: str
    words: str


def trial(mutant: Mutant) -> Verdict:
    """Run a mutant's killers on it; it counts as killed if a test fails, not if one cannot be run."""
    with package({mutant.file: mutant.mutated()}) as folder:
        code, said = pytest_on(folder, mutant.killers)
    failures = re.findall(r"^FAILED (\S+)", said, flags=re.MULTILINE)
    if code == FAILED and failures:
        return Verdict(mutant, True, failures[0], said)
    return Verdict(mutant, False, "", said)


def passes_unmutated(killers: Sequence[str]) -> tuple[bool, str]:
    """Run tests on an unchanged copy of the package, in the same way: whoever fails there kills nobody."""
    with package({}) as folder:
        code, said = pytest_on(folder, killers)
    return code == 0, said


@contextmanager
def package(changed: dict[str, str]) -> Iterator[Path]:
    """Lend a copy of src/mapl with some other files; the work tree is only read."""
    with tempfile.TemporaryDirectory(prefix="mapl-mutant-") as place:
        folder = Path(place) / "mapl"
        shutil.copytree(_compiled(), folder)
        for file, text in changed.items():
            (folder / file).write_text(text, encoding="utf-8")
            # What was compiled of a file of the same size and second would hide the change.
            for stale in (folder / file).parent.glob(f"__pycache__/{Path(file).stem}.*"):
                stale.unlink()
        yield folder


@cache
def _compiled() -> Path:
    """Compile the package once for all trials, outside of the work tree; it goes when this process ends."""
    place = Path(tempfile.mkdtemp(prefix="mapl-mutants-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    shutil.copytree(SOURCE, place / "mapl", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(place / "mapl", quiet=2)
    return place / "mapl"


def pytest_on(folder: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests with a package from elsewhere, first on the path of every process; return exit code and output."""
    own = str(Path(__file__).resolve().parent)
    surroundings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder.parent), own]),
        WHERE: str(folder),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # no test here needs one, and loading them takes longer than a test
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder.parent / "hypothesis"),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "only_the_mutant"]
    try:
        ran = subprocess.run(
            [*command, "--tb=short", f"--basetemp={folder.parent / 'tests'}", *tests],
            cwd=REPOSITORY,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"The tests had not ended after {LONGEST} seconds."
    return ran.returncode, ran.stdout + ran.stderr
