"""No process outlives the one that started it, so a run that is killed leaves no shard in any memory."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from threading import Thread
from typing import NoReturn

PR_SET_PDEATHSIG = 1
SECONDS_BETWEEN_LOOKS = 1.0


def die_with_parent(parent: int, *, thread_lasts: bool = True) -> None:
    """Have this process ended when the process that started it ends, however that comes about.

    Linux sees to it itself. Elsewhere a thread looks from time to time.

    Parameters
    ----------
    parent
        The process that started this one; if it has ended already, so does this one.
    thread_lasts
        Whether the thread that started this process lives as long as its own does. Linux takes the end of that
        thread for the end of the parent.
    """
    if not (thread_lasts and _ended_by_the_system()):
        Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        _end()


def _ended_by_the_system() -> bool:
    """Ask for a signal that nothing can catch when the parent ends; return whether this system knows of such."""
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    return False


def _watch(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    _end()


def _end() -> NoReturn:
    """End this process, and what it started if it leads a group of its own, without any ceremony."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
