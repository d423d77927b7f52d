"""What a run finds on a machine: packages, cores, memory, random bits, and a folder that keeps secrets.

Everything is tried out as a run would use it. Nothing private is read, and what is written is removed again.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from mapl import __version__
from mapl.errors import MaplError
from mapl.noise import SystemCoins
from mapl.parameters import spell
from mapl.pipeline.runs.file_lock import lock_file, refuse_without_locks
from mapl.pipeline.runs.folder import RunFolder
from mapl.release.files.write_once import UNFINISHED

State = Literal["fine", "absent", "trouble"]
"""Absent is what a plain installation does without."""

SCARCE = 1 << 30
"""Bytes of memory below which a run on a table of some size may be ended by the system."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that was looked at, and in words what was found and what to do."""

    what: str
    state: State
    words: str


def examine(folder: Path) -> list[Symptom]:
    """Look at the installation, the machine, and a folder in which runs are to be kept."""
    return [_python(), *_packages(), _system(), _cores(), _memory(), _entropy(), _folder(folder)]


def _python() -> Symptom:
    return Symptom("Python", "fine", f"{sys.version.split()[0]} on {sys.platform}, mapl {__version__}")


def _packages() -> Iterator[Symptom]:
    """Compare what is installed with what mapl asks for, by itself and for each extra."""
    asked = [Requirement(one) for one in requires("mapl") or ()]
    own = [one for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})]
    lacking = [words for one in own if (words := _lack(one))]
    if lacking:
        yield Symptom("packages", "trouble", f"missing: {', '.join(lacking)}; pip install -U mapl")
    else:
        yield Symptom("packages", "fine", f"all {len(own)} that mapl asks for")
    for extra in EXTRAS:
        lacking = [
            words
            for one in asked
            if one not in own and one.marker is not None and one.marker.evaluate({"extra": extra})
            if (words := _lack(one))
        ]
        absent = f"for {EXTRAS[extra]}: pip install 'mapl[{extra}]' (missing: {', '.join(lacking)})"
        yield Symptom(f"extra {extra}", "absent" if lacking else "fine", absent if lacking else EXTRAS[extra])


EXTRAS = {
    "serve": "a server that answers (mapl serve, mapl keys)",
    "telemetry": "spans of a server's requests for OpenTelemetry",
    "onnx": "kept teachers of more kinds, and students for other worlds",
    "active": "two ways to choose an active student's questions",
    "plots": "pictures of benchmarks",
    "frames": "tables of pandas and polars",
    "boosting": "LightGBM and XGBoost as learners",
    "databases": "private tables in PostgreSQL and DuckDB",
    "dask": "teachers and counts on a cluster of dask",
    "ray": "teachers and counts on a cluster of Ray",
    "flower": "sites that may not pool, on Flower",
    "fast": "a thousand logistic or naive Bayes teachers and more, compiled",
    "torch": "networks as learners and as students of images",
}
"""What each extra is good for."""


def _lack(asked: Requirement) -> str | None:
    try:
        found = version(asked.name)
    except PackageNotFoundError:
        return asked.name
    fits = asked.specifier.contains(found, prereleases=True)
    return None if fits else f"{asked.name}{asked.specifier} in place of {found}"


def _system() -> Symptom:
    try:
        refuse_without_locks()
    except MaplError as why:
        return Symptom("system", "trouble", str(why))
    if not hasattr(os, "fork"):
        return Symptom("system", "trouble", "no fork, which teachers need; on Windows use WSL")
    return Symptom("system", "fine", "processes for teachers, and locks on files")


def _cores() -> Symptom:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Symptom("cores", "fine", f"{cores} for teachers ({spell('jobs')})")


def _memory() -> Symptom:
    free = _free_memory()
    if free is None:
        return Symptom("memory", "fine", "this system does not tell how much is free")
    if free < SCARCE:
        return Symptom("memory", "trouble", f"{free / 2**30:.1f} GiB are free; large tables need more")
    return Symptom("memory", "fine", f"{free / 2**30:.1f} GiB are free")


def _free_memory() -> int | None:
    """Return the bytes that a new process may have: what the kernel offers, or what a container may use."""
    offers = []
    for path, name, scale in (("/proc/meminfo", "MemAvailable:", 1024), ("/sys/fs/cgroup/memory.max", "", 1)):
        try:
            lines = Path(path).read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        words = [line.removeprefix(name).split() for line in lines if line.startswith(name)]
        offers += [int(one[0]) * scale for one in words if one and one[0].isdigit()]
    return min(offers, default=None)


def _entropy() -> Symptom:
    try:
        first, second = (SystemCoins().words(64).tobytes() for _ in range(2))
    except MaplError as why:
        return Symptom("random bits", "trouble", str(why))
    if first == second:
        return Symptom(
            "random bits", "trouble", "the system's generator repeats itself, and such noise protects nobody"
        )
    return Symptom("random bits", "fine", "the operating system's generator answers")


def _folder(folder: Path) -> Symptom:
    """Try in a folder what a run does there: a half that only its owner enters, a lock, enough room."""
    name = f"folder {folder}"
    try:
        RunFolder(folder / "run").refuse_unfit()
        nearest = next(one for one in (folder, *folder.absolute().parents) if one.is_dir())
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=nearest) as inside:
            os.chmod(inside, 0o700)
            if stat.S_IMODE(os.stat(inside).st_mode) != 0o700:
                return Symptom(
                    name, "trouble", "it keeps no permissions, so others could read a run's private half"
                )
            file = os.open(Path(inside) / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                lock_file(file, wait=False)
            finally:
                os.close(file)
    except MaplError as why:
        return Symptom(name, "trouble", str(why))
    except OSError as failure:
        return Symptom(name, "trouble", f"a run could not be kept here ({failure.strerror}); choose another folder")
    return Symptom(name, "fine", "a run can be kept here: it is written, locked, and closed to others")
