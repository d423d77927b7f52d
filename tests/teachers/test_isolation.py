"""A child may do what it likes: its parent gets an answer or None, and lives on."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from mapl.teachers.isolation import BY_THE_CLOCK, in_child, limited


def test_an_answer_of_any_size_comes_back() -> None:
    for answer in (b"", b"x", bytes(5_000_000)):
        assert in_child(lambda answer=answer: answer) == answer
    assert in_child(lambda: None) is None


def raises() -> bytes:
    raise ValueError("secret")


def leaves() -> bytes:
    os._exit(0)


def exits() -> bytes:
    raise SystemExit(0)


def crashes() -> bytes:
    return ctypes.string_at(0)


def kills_itself() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"unreachable"


def recurses() -> bytes:
    return recurses()


@pytest.mark.parametrize("task", [raises, leaves, exits, crashes, kills_itself, recurses])
def test_a_child_that_ends_early_gives_none(task: Callable[[], bytes], capfd: pytest.CaptureFixture[str]) -> None:
    def quiet() -> bytes:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        faulthandler.disable()
        return task()

    assert in_child(quiet) is None
    assert in_child(lambda: b"fine") == b"fine"
    assert capfd.readouterr() == ("", "")


def spins() -> bytes:
    while True:
        pass


def sleeps() -> bytes:
    time.sleep(600)
    return b"late"


@pytest.mark.parametrize(("task", "longest"), [(spins, 0.3 * BY_THE_CLOCK), (sleeps, 0.3 * BY_THE_CLOCK)])
def test_a_limit_ends_what_computes_and_what_waits(task: Callable[[], bytes], longest: float) -> None:
    def within() -> bytes:
        with limited(0.3):
            return task()

    began = time.monotonic()
    assert in_child(within) is None
    assert 0.25 < time.monotonic() - began < longest + 2


def test_a_limit_that_is_kept_does_nothing() -> None:
    def within() -> bytes:
        with limited(0.2):
            pass
        time.sleep(0.2 * BY_THE_CLOCK + 0.1)
        return b"done"

    assert in_child(within) == b"done"
    with limited(None):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_nothing_that_a_child_started_survives_it() -> None:
    def starts_another() -> bytes:
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        return str(sleeper.pid).encode()

    answer = in_child(starts_another)
    assert answer is not None
    for _ in range(50):
        if not is_running(int(answer)):
            return
        time.sleep(0.1)
    pytest.fail("the grandchild still runs")


def test_a_fork_that_keeps_the_pipe_open_holds_up_nobody() -> None:
    def forks_and_fails() -> None:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)

    began = time.monotonic()
    assert in_child(forks_and_fails) is None
    assert time.monotonic() - began < 5


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
