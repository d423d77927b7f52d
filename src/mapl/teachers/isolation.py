"""Running one task in a forked child, so that whatever it does to its process hurts nobody else."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from mapl.teachers.lifeline import die_with_parent

BY_THE_CLOCK = 3
"""How many times the limit a task may take by the clock, waiting included.

The limit itself counts the seconds the task computes. The clock also runs while other teachers compute, so by the
clock one teacher could push another past its limit; a factor leaves room, and still ends a task that only sleeps.
"""

PATIENCE = 0.1
CHUNK = 1 << 20
LENGTH_BYTES = 8


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Have the operating system end this process if what happens inside takes too long."""
    if seconds is None:
        yield
        return
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * BY_THE_CLOCK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def in_child(task: Callable[[], bytes | None]) -> bytes | None:
    """Return what a task returns in a child of this process, None if it did not get that far.

    The child leads a process group, which is ended with it, so nothing that the task started survives.
    """
    reading, writing = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _run_and_end(task, writing, parent)
    os.close(writing)
    try:
        with suppress(OSError):  # the child does the same; whoever comes first
            os.setpgid(pid, pid)
        return _message(_received(reading, pid))
    finally:
        os.close(reading)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _run_and_end(task: Callable[[], bytes | None], writing: int, parent: int) -> NoReturn:
    """Run the task, write its answer with its length before it, and end without any ceremony."""
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        die_with_parent(parent)
        answer = task()
        if answer is not None:
            with open(writing, "wb") as pipe:
                pipe.write(len(answer).to_bytes(LENGTH_BYTES, "big"))
                pipe.write(answer)
    finally:
        os._exit(0)


def _received(reading: int, pid: int) -> bytes:
    """Read until the pipe is closed, or until the child is gone and nothing more is in the pipe.

    The end of the child has to be asked for: a process it left behind may keep the pipe open.
    """
    received = bytearray()
    gone = False
    while True:
        if select.select([reading], [], [], 0 if gone else PATIENCE)[0]:
            chunk = os.read(reading, CHUNK)
            if not chunk:
                return bytes(received)
            received += chunk
        elif gone:
            return bytes(received)
        else:
            gone = os.waitpid(pid, os.WNOHANG)[0] == pid


def _message(received: bytes) -> bytes | None:
    """Return a whole answer; anything cut short, or written by two, is none."""
    answer = received[LENGTH_BYTES:]
    whole = len(received) >= LENGTH_BYTES and int.from_bytes(received[:LENGTH_BYTES], "big") == len(answer)
    return answer if whole else None
