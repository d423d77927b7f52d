"""Worker processes: clean, single-threaded, reused, and gone when they should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from mapl.errors import MaplError
from mapl.teachers.workers import pool
from mapl.teachers.workers.pool import n_workers, workers

SCRIPT = """
import sys
import numpy as np
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.teachers import as_learner, poll

ids = [str(i).encode() for i in range(60)]
rows = np.arange(60.0).reshape(-1, 1)
sharded = Sharded(PrivateRows(rows), np.arange(60, dtype=np.int32) % 2, ids, Shards(ShardKey(bytes(32)), 4))

def train(X, y):
    {body}
    return lambda Q: ["yes"] * len(Q)

ballot = poll(as_learner(train, Classes(("no", "yes"))), sharded, rows[:3], n_classes=2, n_jobs=2)
print(ballot.tallies().counts.tolist())
"""


def processes_in_group(group: int) -> list[int]:
    """Return the running members of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if after[0] != "Z" and int(after[3]) == group:
                found.append(int(entry.name))
    return found


def test_a_script_without_a_main_guard_runs_once_and_ends_quietly(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(body="print('loud')"))
    ended = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=900, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "[[0, 4], [0, 4], [0, 4]]\n"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted by /proc")
def test_an_interrupt_ends_the_workers_too(tmp_path: Path) -> None:
    note = tmp_path / "started"
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(body=f"open({str(note)!r}, 'w'); import time; time.sleep(600)"))
    started = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    for _ in range(9000):
        if note.exists():
            break
        time.sleep(0.1)
    assert len(processes_in_group(started.pid)) >= 3
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=900)
    assert b"KeyboardInterrupt" in said
    for _ in range(3000):
        if not processes_in_group(started.pid):
            return
        time.sleep(0.1)
    pytest.fail("some worker still runs")


IN_A_THREAD = """
import sys, threading
thread = threading.Thread(target=exec, args=(open(sys.argv[1]).read(), {"__name__": "__main__"}))
thread.start()
thread.join()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted by /proc")
@pytest.mark.parametrize("call", [[], ["-c", IN_A_THREAD]], ids=["main thread", "other thread"])
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path, call: list[str]) -> None:
    """Nobody tells them: kill -9 leaves the parent no time, and they sleep."""
    note = tmp_path / "started"
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(body=f"open({str(note)!r}, 'w'); import time; time.sleep(600)"))
    started = subprocess.Popen([sys.executable, *call, path], start_new_session=True)
    for _ in range(9000):
        if note.exists():
            break
        time.sleep(0.1)
    assert len(processes_in_group(started.pid)) >= 3
    started.kill()
    started.wait(900)
    for _ in range(3000):
        if not processes_in_group(started.pid):
            return
        time.sleep(0.1)
    os.killpg(started.pid, signal.SIGKILL)
    pytest.fail("some worker still runs")


def test_workers_live_on_when_the_thread_that_started_them_ends() -> None:
    """Linux would end them with it, in the middle of a poll of another thread."""
    found: list[int] = []

    def ask() -> None:
        with workers(1) as executor:
            found.append(executor.submit(os.getpid).result())

    for _ in range(2):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert found[0] == found[1]
    with workers(1) as executor:
        assert executor.submit(os.getpid).result() != found[0]  # the main thread has workers of its own


def surroundings() -> dict[str, Any]:
    """What a learner finds in a worker."""
    import os
    import resource

    from threadpoolctl import threadpool_info

    return {
        "pid": os.getpid(),
        "threads": max(one["num_threads"] for one in threadpool_info()),
        "hash": hash("mapl"),
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "parallel": joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(3)),
        "expendable": Path("/proc/self/oom_score_adj").read_text().strip(),
    }


def test_workers_are_alike_single_threaded_and_used_again() -> None:
    with workers(1) as executor:
        found = executor.submit(surroundings).result()
    assert found["threads"] == 1
    assert found["core"] == (0, 0)
    assert found["expendable"] == "1000"
    assert set(found["parallel"]) == {found["pid"]}
    with workers(1) as executor:
        again = executor.submit(surroundings).result()
    assert again["pid"] == found["pid"]
    with workers(1, fresh=True) as executor:
        other = executor.submit(surroundings).result()
    assert other["pid"] != found["pid"]
    assert other["hash"] == found["hash"]


def test_workers_that_died_while_idle_are_replaced() -> None:
    with workers(1) as executor:
        pid = executor.submit(os.getpid).result()
    os.kill(pid, signal.SIGKILL)
    stat = Path(f"/proc/{pid}/stat")
    while stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.05)
    with workers(1) as executor:
        assert executor.submit(os.getpid).result() != pid


def test_after_an_error_nothing_runs_on() -> None:
    pids = []

    def stop() -> None:
        with workers(1) as executor:
            pids.append(executor.submit(os.getpid).result())
            executor.submit(time.sleep, 600)
            executor.submit(time.sleep, 600)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop()
    for _ in range(3000):
        if not Path(f"/proc/{pids[0]}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the worker still runs")


def test_two_threads_do_not_share_workers() -> None:
    found: list[int] = []

    def ask() -> None:
        with workers(1) as executor:
            found.append(executor.submit(os.getpid).result())
            meeting.wait(900)

    meeting = threading.Barrier(2)
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2


def poll_here() -> list[list[int]]:
    scope: dict[str, Any] = {}
    exec(SCRIPT.format(body="pass"), scope)
    counts: list[list[int]] = scope["ballot"].tallies().counts.tolist()
    return counts


def test_a_poll_inside_a_worker_of_joblib() -> None:
    (found,) = joblib.Parallel(n_jobs=2)([joblib.delayed(poll_here)()])
    assert found == [[0, 4], [0, 4], [0, 4]]


def test_workers_that_cannot_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unlucky(*given: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(pool, "settle", unlucky)
    with pytest.raises(MaplError, match="Worker processes cannot be started"), workers(3):
        pass


def test_minus_one_means_all_processors() -> None:
    assert n_workers(-1) == joblib.cpu_count()
    assert n_workers(3) == 3
    assert n_workers(np.int64(3)) == 3  # type: ignore[arg-type]
