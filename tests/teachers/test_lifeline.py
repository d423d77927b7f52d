"""A process ends with its parent: at once if that has ended already, by the system or by a look if it is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mapl.teachers.workers.isolation import in_child
from mapl.teachers.workers.lifeline import die_with_parent

FAMILY = """
import os, subprocess, sys
from functools import partial
from mapl.teachers.workers import isolation, lifeline

if sys.argv[1] == "by a look":  # as on systems that do not see to it themselves
    lifeline._ended_by_the_system = lambda: False
    lifeline.SECONDS_BETWEEN_LOOKS = 0.2

def task():
    program = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    sleeper = subprocess.Popen(
        program, stdout=subprocess.DEVNULL, preexec_fn=partial(lifeline.die_with_parent, os.getpid())
    )
    print(os.getpid(), sleeper.pid, flush=True)
    sleeper.wait()

isolation.in_child(task)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", ["by the system", "by a look"])
def test_a_child_and_its_program_end_with_a_parent_that_is_killed(how: str) -> None:
    with subprocess.Popen([sys.executable, "-c", FAMILY, how], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        family = [Path("/proc") / pid / "stat" for pid in parent.stdout.readline().split()]
        assert len(family) == 2
        time.sleep(0.5)
        assert all(map(is_running, family))
        parent.kill()
    deadline = time.monotonic() + 300
    while any(map(is_running, family)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, family))


def is_running(stat: Path) -> bool:
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_child_whose_parent_has_ended_already_does_nothing() -> None:
    def orphaned() -> bytes:
        die_with_parent(os.getpid())  # its parent is another process by now
        return b"still here"

    def at_home() -> bytes:
        die_with_parent(os.getppid())
        return b"still here"

    assert in_child(orphaned) is None
    assert in_child(at_home) == b"still here"
