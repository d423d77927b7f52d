"""Who waits is told from who gets no turn, and waiting is never counted as a vote."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidParameter
from mapl.teachers import Ballot, as_learner, poll
from mapl.teachers.learners.command import Command
from mapl.teachers.rehearsal import rehearse
from mapl.teachers.workers.stillness import FEWEST_LOOKS, Standstill, StillnessWatch, state_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at by /proc")

CLASSES = Classes(("no", "yes"))
QUESTIONS = np.arange(20.0).reshape(10, 2)


@contextmanager
def child(task: Callable[[], object]) -> Iterator[int]:
    """Run a task in a child that has begun it, as far as anybody can tell; end the child and its group."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.write(writing, b".")
        try:
            task()
        finally:
            os._exit(0)
    try:
        os.read(reading, 1)
        yield pid
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
        os.close(writing)


def waits() -> None:
    signal.pause()


def spins() -> None:
    while True:
        pass


def waits_for_a_spinner() -> None:
    if os.fork() == 0:
        spins()
    os.wait()


def leaves_a_spinner_to_nobody() -> None:
    if os.fork() == 0:
        if os.fork() == 0:
            spins()
        os._exit(0)
    os.wait()
    waits()


def looked(pid: int, patience: float, looks: int) -> None:
    watch = StillnessWatch(patience)
    for _ in range(looks):
        watch.look([pid])


def until_asleep(pid: int) -> None:
    while not state_of([pid])[0]:
        os.sched_yield()


def test_a_child_that_waits_is_still() -> None:
    with child(waits) as pid:
        until_asleep(pid)
        looked(pid, 0.1, FEWEST_LOOKS)
        with pytest.raises(Standstill, match="without computing"):
            looked(pid, 0.1, FEWEST_LOOKS + 1)
        looked(pid, 30.0, 25)
        with pytest.raises(Standstill, match="waited for 30 seconds"):
            looked(pid, 30.0, 31)
        StillnessWatch(None).look([pid])
        assert StillnessWatch(None).interval is None


@pytest.mark.parametrize("task", [spins, waits_for_a_spinner, leaves_a_spinner_to_nobody])
def test_a_child_that_computes_somewhere_is_not(task: Callable[[], object]) -> None:
    with child(task) as pid:
        looked(pid, 0.1, 40)


def test_a_child_that_gets_no_turn_is_not() -> None:
    """One that is stopped does not sleep of its own accord, as little as one that others leave no processor."""
    with child(spins) as pid:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)
        looked(pid, 0.1, 40)


def sharded(n_teachers: int) -> Sharded:
    ids = [str(i).encode() for i in range(20 * n_teachers)]
    shards = Shards(ShardKey(bytes(32)), n_teachers)
    rows = np.column_stack([np.arange(len(ids)), shards.of(ids)]).astype(np.float64)
    return Sharded(PrivateRows(rows), (np.arange(len(ids)) % 2).astype(np.int32), ids, shards)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_teacher_that_waits_stops_the_poll_and_casts_no_vote(tmp_path: Path, n_jobs: int) -> None:
    gate, path = tmp_path / "gate", tmp_path / "ballot.npz"
    named = str(gate)

    def train(X: object, y: object) -> object:
        import os
        import signal

        if int(X[0, 1]) == 3 and not os.path.exists(named):  # type: ignore[index]
            signal.pause()
        return lambda Q: ["yes"] * len(Q)

    learner, teachers = as_learner(train, CLASSES), sharded(6)
    with pytest.raises(Standstill, match="Do not publish that the run stopped"):
        poll(learner, teachers, QUESTIONS, n_classes=2, n_jobs=n_jobs, time_limit=5.0, checkpoint=path)
    kept = Ballot.load(path)
    assert 3 in kept.missing()
    if n_jobs == 2:  # the other worker was not held up
        assert kept.n_voted >= 3
    gate.touch()
    whole = poll(learner, teachers, QUESTIONS, n_classes=2, ballot=kept, n_jobs=n_jobs, time_limit=5.0)
    assert whole.tallies().counts.tolist() == [[0, 6]] * 10


def test_a_program_that_waits_stops_the_poll_with_all_it_started(tmp_path: Path) -> None:
    note, path = tmp_path / "pids", tmp_path / "program.py"
    path.write_text(
        "import os, signal, subprocess, sys\n"
        "more = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        f"open({str(note)!r}, 'a').write(f'{{os.getpid()}} {{more.pid}} ')\n"
        "signal.pause()\n"
    )
    command = Command(f"{sys.executable} {path} {{shard}} {{queries}} {{votes}}")
    with pytest.raises(Standstill):
        poll(as_learner(command, CLASSES), sharded(1), QUESTIONS, n_classes=2, n_jobs=1, time_limit=5.0)
    pids = list(map(int, note.read_text().split()))
    assert pids
    while any(is_running(pid) for pid in pids):
        os.sched_yield()


def test_a_learner_that_waits_is_told_in_the_rehearsal() -> None:
    def train(X: object, y: object) -> object:
        import signal

        signal.pause()
        return None

    with pytest.raises(InvalidParameter, match=r"rehearsal .* it waited for 8 seconds without computing"):
        rehearse(as_learner(train, CLASSES), QUESTIONS, 2, n_jobs=1, time_limit=5.0)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
