"""A lock on an open file, held by one process at a time and gone when that process is."""

from __future__ import annotations

from mapl.errors import InvalidParameter

NO_LOCKS = (
    "Folders of runs, and files that several processes write, need a system with locks on files, such as Linux or "
    "macOS; on Windows use WSL, or estimators in Python, which need no folder."
)


def refuse_without_locks() -> None:
    """Refuse, before anything is written, a system on which two processes could spend from one folder at once."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        raise InvalidParameter(NO_LOCKS) from None


def lock_file(descriptor: int, *, wait: bool) -> None:
    """Lock an open file until it is closed.

    Raises
    ------
    BlockingIOError
        If somebody else holds the lock and this process will not wait.
    """
    refuse_without_locks()
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
