"""A child may do what it likes: its parent gets an answer or None, and lives on."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from mapl.teachers.workers.isolation import in_child, limit_computing, limit_program, seconds_computed


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


def computes(seconds: float) -> bytes:
    until = seconds_computed() + seconds
    while seconds_computed() < until:
        pass
    return b"done"


def test_a_limit_ends_what_computes() -> None:
    def within() -> bytes:
        with limit_computing(0.3):
            return spins()

    began = seconds_computed()
    assert in_child(within) is None
    assert seconds_computed() - began > 0.25


def test_waiting_and_starving_do_not_count() -> None:
    """Whoever is stopped for thrice its limit, as others on a busy machine may be, still has all of it."""

    def within() -> bytes:
        me = os.getpid()
        if os.fork() == 0:
            os.kill(me, signal.SIGSTOP)
            time.sleep(0.9)
            os.kill(me, signal.SIGCONT)
            os._exit(0)
        with limit_computing(0.3):
            time.sleep(0.9)
            os.wait()
            return b"done"

    assert in_child(within) == b"done"


def test_a_limit_holds_inside_only() -> None:
    def within() -> bytes:
        before = resource.getrlimit(resource.RLIMIT_CPU)
        with limit_computing(0.4):
            assert resource.getrlimit(resource.RLIMIT_CPU) != before
        assert resource.getrlimit(resource.RLIMIT_CPU) == before
        return computes(2.0)

    assert in_child(within) == b"done"
    with limit_computing(None):
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_what_is_started_inside_counts() -> None:
    """A process that is waited for computes for whoever waits, and is ended by the limit that it inherits."""

    def by_another(seconds: float) -> bytes | None:
        with limit_computing(1.0):
            pid = os.fork()
            if pid == 0:
                computes(seconds)
                os._exit(0)
            os.waitpid(pid, 0)
        return b"done"

    assert in_child(lambda: by_another(0.1)) == b"done"
    assert in_child(lambda: by_another(1.5)) is None
    assert in_child(lambda: by_another(float("inf"))) is None


@pytest.mark.parametrize("inherited", [False, True])
def test_a_program_cannot_ignore_its_limit(inherited: bool) -> None:
    def spun() -> bytes:
        with limit_computing(1.0 if inherited else None):
            pid = os.fork()
            if pid == 0:
                limit_program(None if inherited else 1.0)
                signal.signal(signal.SIGXCPU, signal.SIG_IGN)
                spins()
            ended = os.waitpid(pid, 0)[1]
            return str(os.WTERMSIG(ended)).encode()

    assert in_child(spun) == (None if inherited else str(int(signal.SIGKILL)).encode())


def test_nothing_that_a_child_started_survives_it() -> None:
    def starts_another() -> bytes:
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        return str(sleeper.pid).encode()

    answer = in_child(starts_another)
    assert answer is not None
    while is_running(int(answer)):  # it was ended already, and goes when the system comes to it
        time.sleep(0.05)


def test_a_fork_that_keeps_the_pipe_open_holds_up_nobody() -> None:
    def forks_and_fails() -> None:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)

    assert in_child(forks_and_fails) is None  # it would wait for the sleeper otherwise


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
