"""Running one task in a forked child, so that whatever it does to its process hurts nobody else."""

from __future__ import annotations

import math
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from mapl.teachers.workers.lifeline import die_with_parent

PATIENCE = 0.1
CHUNK = 1 << 20
LENGTH_BYTES = 8


@contextmanager
def limit_computing(seconds: float | None) -> Iterator[None]:
    """Have the operating system end this process if what happens inside computes for too long.

    Only seconds of computing count. The clock also runs while others compute, so by the clock one teacher could
    push another past its limit; whoever only waits is left to `workers.stillness`. Processes that are started
    inside inherit a limit each, and what they used counts when they have ended.

    Raises
    ------
    TimeoutError
        If this process and those that it started, taken together, computed for longer.
    """
    if seconds is None:
        yield
        return
    import resource

    for number in (signal.SIGPROF, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    before = resource.getrlimit(resource.RLIMIT_CPU)
    began = seconds_computed()
    resource.setrlimit(resource.RLIMIT_CPU, _lower(before, math.ceil(began + seconds) + 1))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_CPU, before)
        if seconds_computed() - began > seconds:  # whatever else went wrong
            raise TimeoutError("It computed for longer than its time limit.") from None


def limit_program(seconds: float | None) -> None:
    """Limit what the program that is about to take the place of this process computes, beyond any appeal.

    A limit of the process that starts it holds as well.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if seconds is not None:
        soft, hard = _lower((soft, hard), math.ceil(seconds))
    if soft != resource.RLIM_INFINITY:  # a program may ignore the first limit, not the last one
        last = soft + 1 if hard == resource.RLIM_INFINITY else min(soft + 1, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, last))


def seconds_computed() -> float:
    """Return the seconds that this process, and all that it started and saw end, have computed."""
    return sum(os.times()[:4])


def _lower(limits: tuple[int, int], soft: int) -> tuple[int, int]:
    """Return limits of which the first is lowered, never raised; negative ones stand for none."""
    return min([soft, *(limit for limit in limits if limit >= 0)]), limits[1]


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
    with _end_of(pid) as end:
        gone = False
        while True:
            if select.select([reading], [], [], 0)[0]:
                chunk = os.read(reading, CHUNK)
                if not chunk:
                    return bytes(received)
                received += chunk
            elif gone:
                return bytes(received)
            else:
                # Where the system tells of the end of a child, a worker sleeps until there is something to do.
                select.select([reading, *end], [], [], None if end else PATIENCE)
                gone = os.waitpid(pid, os.WNOHANG)[0] == pid


@contextmanager
def _end_of(pid: int) -> Iterator[list[int]]:
    """Return what becomes readable when a child ends, nothing on systems that have no such thing."""
    try:
        told = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield []
        return
    try:
        yield [told]
    finally:
        os.close(told)


def _message(received: bytes) -> bytes | None:
    """Return a whole answer; anything cut short, or written by two, is none."""
    answer = received[LENGTH_BYTES:]
    whole = len(received) >= LENGTH_BYTES and int.from_bytes(received[:LENGTH_BYTES], "big") == len(answer)
    return answer if whole else None
