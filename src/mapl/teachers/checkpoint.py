"""Checkpoints of ballots: private arrays in a file of their own, the old ones or the new ones whatever happens."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidData


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays into a file that only its owner may read; a crash leaves the old file or the new one."""
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with open(descriptor, "wb") as opened:
            np.savez(opened, **arrays)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def read_arrays(path: Path, *names: str) -> list[NDArray[Any]]:
    """Read arrays that `write_arrays` wrote, by their names; what they hold is for the caller to check."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            return [stored[name] for name in names]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        raise InvalidData(
            f"The ballot {path} is missing or damaged; delete it to poll the teachers again, which is free."
        ) from None


def broken_ballot(path: Path) -> InvalidData:
    """Return the error of a checkpoint whose arrays do not fit together."""
    return InvalidData(f"The ballot {path} does not add up; delete it to poll the teachers again.")
