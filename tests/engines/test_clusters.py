"""Real clusters on this machine: the same bits as without one, whoever dies on the way."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.engines.cluster import EngineFailed
from mapl.engines.opening import close_clusters, open_cluster
from mapl.errors import InvalidParameter
from mapl.teachers import Ballot, Learner, as_learner, fit_teachers, poll
from mapl.teachers.rehearsal import rehearse
from mapl.teachers.workers.stillness import Standstill

CLASSES = Classes(("no", "yes"))
N_TEACHERS = 12
WORLD = np.random.default_rng(5)
QUESTIONS = WORLD.normal(size=(70, 3))


@pytest.fixture(scope="module", params=["dask", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Two workers, which are processes, of an engine."""
    open_cluster(request.param, 2)
    yield request.param
    close_clusters()


@pytest.fixture(scope="module")
def sharded() -> Sharded:
    ids = [str(i).encode() for i in range(40 * N_TEACHERS)]
    rows = WORLD.normal(size=(len(ids), 3))
    labels = (rows[:, 0] + WORLD.normal(size=len(ids)) > 0).astype(np.int32)
    return Sharded(PrivateRows(rows), labels, ids, Shards(ShardKey(bytes(32)), N_TEACHERS))


def tree() -> Learner:
    return as_learner(DecisionTreeClassifier(min_samples_leaf=3, random_state=0), CLASSES)


def accident_in_one_shard(sharded: Sharded, accident: Callable[[], None]) -> Learner:
    """A tree, but what happens to the teacher of shard 3 is an accident."""
    struck = sharded.shard(3)[0][0, 0]

    def train(X: Any, y: Any) -> Any:
        if (X[:, 0] == struck).any():
            accident()
        return DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X, y).predict

    return as_learner(train, CLASSES)


def votes(learner: Learner, sharded: Sharded, **settings: Any) -> Ballot:
    return poll(learner, sharded, QUESTIONS, n_classes=2, n_jobs=2, **settings)


@pytest.fixture(scope="module")
def at_home(sharded: Sharded) -> Any:
    """The votes of trees without any cluster."""
    return votes(tree(), sharded).tallies().counts


def test_votes_are_the_same_bits(engine: str, sharded: Sharded, at_home: Any, tmp_path: Path) -> None:
    aside = np.arange(len(sharded.labels)) % 4 == 0
    told: list[int] = []
    there = votes(tree(), sharded, engine=engine, held_out=aside, scratch=tmp_path, on_progress=told.append)
    here = votes(tree(), sharded, held_out=aside)
    assert there.tallies().counts.tolist() == here.tallies().counts.tolist() != at_home.tolist()
    assert there.own_errors().tolist() == here.own_errors().tolist()
    assert told == list(range(1, N_TEACHERS + 1))
    assert list(tmp_path.iterdir()) == []
    assert votes(tree(), sharded, engine=engine).tallies().counts.tolist() == at_home.tolist()


def test_kept_models_are_the_same_bytes(engine: str, sharded: Sharded) -> None:
    there = fit_teachers(tree(), sharded, n_classes=2, n_jobs=2, engine=engine)
    here = fit_teachers(tree(), sharded, n_classes=2, n_jobs=2)
    assert there.models == here.models
    assert None not in here.models


def test_a_teacher_that_fails_casts_the_fallback_vote_as_at_home(
    engine: str, sharded: Sharded, at_home: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    def say() -> None:
        print("Ada, 36, positive")
        raise ValueError("Ada, 36, positive")

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def starve() -> None:
        before = resource.getrlimit(resource.RLIMIT_AS)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
        try:
            np.ones(1 << 24)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)

    outcomes = {
        tuple(votes(accident_in_one_shard(sharded, why), sharded, engine=where).tallies().counts.ravel().tolist())
        for why in (say, die, starve)
        for where in (engine, "local")
    }
    assert len(outcomes) == 1
    assert outcomes != {tuple(at_home.ravel().tolist())}
    said = capfd.readouterr()
    assert "Ada" not in said.out + said.err


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    engine: str, sharded: Sharded, at_home: Any, tmp_path: Path
) -> None:
    """Once the process of the teacher, once the worker of the cluster that started it."""

    def kill_once(victim: Callable[[], int], marker: Path) -> Callable[[], None]:
        def accident() -> None:
            if not marker.exists():
                marker.touch()
                os.kill(victim(), signal.SIGKILL)
                time.sleep(600)

        return accident

    for victim in (os.getpid, os.getppid):
        marker = tmp_path / victim.__name__
        learner = accident_in_one_shard(sharded, kill_once(victim, marker))
        assert votes(learner, sharded, engine=engine).tallies().counts.tolist() == at_home.tolist()
        assert marker.exists()


def test_a_worker_that_dies_again_and_again_stops_the_run_and_the_rest_is_kept(
    engine: str, sharded: Sharded, at_home: Any, tmp_path: Path
) -> None:
    def kill_the_worker() -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)

    checkpoint, scratch = tmp_path / "ballot", tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(EngineFailed, match="died again and again") as told:
        votes(
            accident_in_one_shard(sharded, kill_the_worker),
            sharded,
            engine=engine,
            checkpoint=checkpoint,
            scratch=scratch,
        )
    assert "Give the same command again" in str(told.value)
    assert list(scratch.iterdir()) == []
    kept = Ballot.load(checkpoint)
    assert 3 in kept.missing()
    assert votes(tree(), sharded, ballot=kept).tallies().counts.tolist() == at_home.tolist()


def test_a_cluster_of_ones_own_that_lost_all_workers_gets_others(sharded: Sharded, at_home: Any) -> None:
    """On a busy machine workers start again so slowly that dask gives them up; tasks then waited for ever."""
    import dask

    cluster = open_cluster("dask", 2)
    client = cluster._client  # type: ignore[union-attr]
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        while cluster._own.workers:  # type: ignore[union-attr]
            time.sleep(0.1)
    assert votes(tree(), sharded, engine="dask").tallies().counts.tolist() == at_home.tolist()
    close_clusters()


def test_what_a_teacher_left_in_memory_is_no_reason_why_another_fails(
    engine: str, sharded: Sharded, at_home: Any
) -> None:
    """Shard 3's teacher leaves 300 MB behind in its process, which may have 400; others want 200 for a while."""
    struck = sharded.shard(3)[0][0, 0]

    def train(X: Any, y: Any) -> Any:
        if not hasattr(np, "left_behind"):
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), resource.RLIM_INFINITY))
            np.left_behind = []  # type: ignore[attr-defined]
        if (X[:, 0] == struck).any():
            np.left_behind.append(np.ones(300 << 17))
        else:
            np.ones(200 << 17)
        return DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X, y).predict

    for where in (engine, "local"):
        found = votes(as_learner(train, CLASSES), sharded, engine=where)
        assert found.tallies().counts.tolist() == at_home.tolist()


def test_two_clusters_of_dask_show_no_pages_and_take_nobodys_port(engine: str) -> None:
    """Whoever else is on this machine can reach a port of loopback."""
    if engine != "dask":
        pytest.skip("Ray has no such pages")
    other: Any = open_cluster("dask", 1)  # beside the one of two workers; a warning would be an error
    own = other._own.scheduler
    other._own.scale(2)  # as where a worker is lost for good
    other._client.wait_for_workers(2)
    ports = [own.http_server.port, *(worker.services["dashboard"] for worker in own.workers.values())]
    assert len(ports) == 3
    for port in ports:
        for page in ("/health", "/metrics", "/info/main/workers.html", "/json/counts.json"):
            asked = HTTPConnection("127.0.0.1", port)
            asked.request("GET", page)
            assert asked.getresponse().status == 404
            asked.close()
    other.close()


def test_learners_are_tried_out_where_they_will_teach(engine: str, tmp_path: Path) -> None:
    seen = tmp_path / "parents"

    def looks_around(X: Any, y: Any) -> Any:
        with seen.open("a") as file:
            file.write(f"{os.getppid()}\n")
        return lambda Q: ["no"] * len(Q)

    def fails(X: Any, y: Any) -> Any:
        raise RuntimeError("no such thing here")

    rehearse(as_learner(looks_around, CLASSES), QUESTIONS, 2, n_jobs=2, engine=engine)
    assert str(os.getpid()) not in seen.read_text().split()
    with pytest.raises(InvalidParameter, match="RuntimeError: no such thing here"):
        rehearse(as_learner(fails, CLASSES), QUESTIONS, 2, n_jobs=2, engine=engine)
    lock = threading.Lock()
    with pytest.raises(InvalidParameter, match="cannot be sent to worker processes"):
        rehearse(as_learner(lambda X, y: lock, CLASSES), QUESTIONS, 2, n_jobs=2, engine=engine)


def test_a_teacher_that_only_waits_stops_the_run_as_at_home(engine: str, sharded: Sharded) -> None:
    learner = accident_in_one_shard(sharded, lambda: time.sleep(600))
    with pytest.raises(Standstill):
        votes(learner, sharded, engine=engine, time_limit=1.0)


HOW = (
    ("--method", "teachers", "--teachers", 12, "--learner", "forest"),
    ("--method", "cells", "--cells", 20),
    ("--method", "moments"),
)


@pytest.mark.parametrize("how", HOW)
def test_a_run_says_the_same_and_releases_the_same(
    engine: str, mapl: Callable[..., Any], clinic: Any, how: tuple[Any, ...]
) -> None:
    def learn(*more: Any) -> tuple[str, str, list[bytes]]:
        ran = mapl(*clinic.arguments("--seed", 3, "--jobs", 2, *how, *more, teachers="auto"))
        assert ran.code == 0, ran.stderr
        # All else names the run, which is another one each time.
        files = [path.read_bytes() for path in sorted(Path("run/public").glob("*.parquet"))]
        shutil.rmtree("run")
        return ran.stdout, ran.stderr, files

    assert learn("--engine", engine) == learn()
