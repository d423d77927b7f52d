"""Writing what is released: completely or not at all, durably, and never over something else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from mapl.errors import InvalidParameter
from mapl.parameters import spell

UNFINISHED = ".mapl-"
"""How the names of files begin that are being written."""


def write_once(path: Path, content: bytes, *, mode: int = 0o644, same_is_fine: bool = False) -> None:
    """Write a new file in one step, so that nobody ever reads half of it.

    Parameters
    ----------
    mode
        What is released may be read like any other file; 0o600 keeps a file to its owner.
    same_is_fine
        Whether a file that already holds exactly this content is left as it is, as when a killed run goes on.

    Raises
    ------
    FileExistsError
        If the path is taken.
    """
    if same_is_fine and path.is_file() and path.read_bytes() == content:
        return
    handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner may read.
        temporary.chmod(mode)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if path.exists():
                raise FileExistsError(path) from None
            temporary.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)


def writable_above(path: Path) -> Path:
    """Return the nearest folder at or above a path that is there, or refuse one that cannot be written."""
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise InvalidParameter(f"{nearest} is a file; choose another folder with {spell('out')}.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InvalidParameter(f"{nearest} cannot be written; choose another folder with {spell('out')}.")
    return nearest
