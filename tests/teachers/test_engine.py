"""The poll: whatever learners do, every teacher votes once, nothing is said, and nobody sees foreign rows."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidParameter
from mapl.teachers import Ballot, Learner, Teachers, as_learner, fit_teachers, poll
from mapl.teachers.engine import _parcel
from mapl.teachers.workers.dispatch import bench, replies
from mapl.teachers.workers.worker import VOTE

CLASSES = Classes(("no", "yes", "maybe"))
NO, YES, MAYBE = 0, 1, 2
KEY = ShardKey(bytes(32))
N_QUESTIONS = 50
QUESTIONS = np.arange(2.0 * N_QUESTIONS).reshape(N_QUESTIONS, 2)


def numbered_shards(n_teachers: int, rows_per_teacher: int = 20) -> Sharded:
    """A table in which every row says its own number and the shard it belongs to, in two classes."""
    ids = [str(i).encode() for i in range(n_teachers * rows_per_teacher)]
    shards = Shards(KEY, n_teachers)
    rows = np.column_stack([np.arange(len(ids)), shards.of(ids)]).astype(np.float64)
    return Sharded(PrivateRows(rows), (np.arange(len(ids)) % 2).astype(np.int32), ids, shards)


def votes_by_teacher(
    learner: Learner, sharded: Sharded, questions: Any, *, n_jobs: int = 1, time_limit: float | None = None
) -> list[list[int] | None]:
    with bench(learner, "vote", n_classes=3, questions=questions, time_limit=time_limit) as job:
        came = dict(replies(job, partial(_parcel, sharded, None), range(sharded.n_teachers), n_jobs))
    assert sorted(came) == list(range(sharded.n_teachers))
    return [None if came[k] is None else np.frombuffer(came[k], VOTE).tolist() for k in sorted(came)]


def counts(learner: Learner, sharded: Sharded, **settings: Any) -> Any:
    ballot = Ballot(N_QUESTIONS, 3, sharded.n_teachers)
    return poll(learner, sharded, QUESTIONS, n_classes=3, ballot=ballot, n_jobs=1, **settings).tallies().counts


def always(answer: str) -> Callable[[Any, Any], Callable[[Any], Any]]:
    return lambda X, y: lambda Q: [answer] * len(Q)


# What goes wrong without ending the process


def failing_politely() -> list[Callable[[Any, Any], Any]]:
    """Learners that fail in a way that Python sees. They are made here so that workers get them by value."""

    def raises(X: Any, y: Any) -> Any:
        raise ValueError(f"row {X[0]} has label {y[0]}")

    def exits(X: Any, y: Any) -> Any:
        raise SystemExit(0)

    def interrupts(X: Any, y: Any) -> Any:
        raise KeyboardInterrupt

    def recurses(X: Any, y: Any) -> Any:
        return recurses(X, y)

    def wants_too_much_memory(X: Any, y: Any) -> Any:
        return np.zeros(1 << 60)

    def returns_no_function(X: Any, y: Any) -> Any:
        return np.zeros(len(X))

    def unlucky_later(X: Any, y: Any) -> Any:
        return lambda Q: 1 / 0

    def too_few(X: Any, y: Any) -> Any:
        return lambda Q: ["yes"] * (len(Q) - 1)

    def probabilities(X: Any, y: Any) -> Any:
        return lambda Q: np.full((len(Q), 3), 1 / 3)

    def generates(X: Any, y: Any) -> Any:
        def forever(Q: Any) -> Any:
            while True:
                yield "yes"

        return forever

    def huge(X: Any, y: Any) -> Any:
        return lambda Q: np.broadcast_to("yes", 10**12)

    def nans(X: Any, y: Any) -> Any:
        return lambda Q: np.full(len(Q), np.nan)

    def unknown(X: Any, y: Any) -> Any:
        return lambda Q: ["si"] * len(Q)

    def nothing(X: Any, y: Any) -> Any:
        return lambda Q: None

    def writes_into_everything(X: Any, y: Any) -> Any:
        X[:] = 7
        y[:] = "no"

        def predict(Q: Any) -> Any:
            Q[:] = -1
            raise ValueError

        return predict

    return [value for value in locals().values() if callable(value)]


def by_shard(behaviours: list[Callable[[Any, Any], Any]]) -> Callable[[Any, Any], Any]:
    """The learner of a shard that is numbered like a behaviour behaves so; the others vote yes."""

    def train(X: Any, y: Any) -> Any:
        k = int(X[0, 1])
        if k < len(behaviours):
            return behaviours[k](X, y)
        asked = np.arange(100.0).reshape(50, 2)
        return lambda Q: ["yes" if np.array_equal(Q, asked) else "maybe"] * len(Q)

    return train


def test_failures_become_fallback_votes_and_say_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    behaviours = failing_politely()
    assert len(behaviours) == 15
    sharded = numbered_shards(len(behaviours) + 5)
    seen: list[int] = []
    found = counts(as_learner(by_shard(behaviours), CLASSES), sharded, on_progress=seen.append)
    expected = np.tile([len(behaviours), 5, 0], (N_QUESTIONS, 1))
    np.testing.assert_array_equal(found, expected)
    assert seen == list(range(1, sharded.n_teachers + 1))
    assert capfd.readouterr() == ("", "")


def test_noise_on_the_terminal_stays_in_the_worker(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    def loud(X: Any, y: Any) -> Any:
        import logging
        import os
        import sys
        import warnings

        print("row", X[0])
        print("row", X[0], file=sys.stderr)
        os.write(1, b"row")
        os.system("echo row; echo row >&2")
        warnings.warn(f"row {X[0]}", stacklevel=1)
        logging.getLogger().error("row")
        return lambda Q: ["yes"] * len(Q)

    assert (counts(as_learner(loud, CLASSES), numbered_shards(3))[:, YES] == 3).all()
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_single_unknown_votes_go_to_the_fallback() -> None:
    def half(X: Any, y: Any) -> Any:
        return lambda Q: ["maybe", "???"] * (len(Q) // 2)

    found = counts(as_learner(half, CLASSES), numbered_shards(4))
    assert found[::2].tolist() == [[0, 0, 4]] * 25
    assert found[1::2].tolist() == [[4, 0, 0]] * 25


def test_empty_and_one_class_shards_vote_for_the_fallback() -> None:
    sharded = numbered_shards(6)
    labels = sharded.labels.copy()
    labels[sharded.members(2)] = MAYBE
    kept = np.array([i for i in range(len(labels)) if i not in sharded.members(4)])
    ids = [sharded.ids[i] for i in kept]
    thinned = Sharded(sharded.rows.take(kept), labels[kept], ids, sharded.shards)
    votes = votes_by_teacher(as_learner(always("yes"), CLASSES), thinned, QUESTIONS)
    assert [k for k, cast in enumerate(votes) if cast is None] == [2, 4]


# What ends the process


def failing_badly() -> list[Callable[[Any, Any], Any]]:
    def leaves(X: Any, y: Any) -> Any:
        import os

        os._exit(0)

    def crashes(X: Any, y: Any) -> Any:
        import ctypes

        ctypes.string_at(0)

    def spins(X: Any, y: Any) -> Any:
        while True:
            pass

    def spins_later(X: Any, y: Any) -> Any:
        def predict(Q: Any) -> Any:
            while True:
                pass

        return predict

    def has_another_spin(X: Any, y: Any) -> Any:
        import os

        if os.fork() == 0:
            while True:
                pass
        return lambda Q: os.wait()

    def kills_its_parent(X: Any, y: Any) -> Any:
        import os
        import signal

        os.kill(os.getppid(), signal.SIGKILL)

    def leaves_a_sleeper(X: Any, y: Any) -> Any:
        import os
        import time

        if os.getppid() != 1 and os.fork() == 0:
            time.sleep(600)
        os._exit(0)

    return [value for value in locals().values() if callable(value)]


def test_dying_and_hanging_teachers_vote_for_the_fallback(capfd: pytest.CaptureFixture[str]) -> None:
    """Children are isolated from the start here: a learner that kills its parent would kill this test.

    They are ended for computing, whatever the clock says; those that only wait are in `test_stillness`.
    """
    behaviours = failing_badly()
    sharded = numbered_shards(len(behaviours) + 4)
    learner = isolated(as_learner(by_shard(behaviours), CLASSES))
    found = counts(learner, sharded, time_limit=1.0)
    np.testing.assert_array_equal(found, np.tile([len(behaviours), 4, 0], (N_QUESTIONS, 1)))
    assert capfd.readouterr() == ("", "")


def isolated(learner: Learner) -> Learner:
    """Make every fit run in a process of its own from the start."""

    class Isolated:
        own_process = True
        name = "isolated"
        prepare = staticmethod(learner.prepare)
        train = staticmethod(learner.train)

    return Isolated()


def test_honest_teachers_that_others_starve_vote_as_ever() -> None:
    """A teacher may wait for its turn for many times its limit: here by being stopped."""

    def stopped(X: Any, y: Any) -> Any:
        import os
        import signal
        import time

        me = os.getpid()
        if os.fork() == 0:
            os.kill(me, signal.SIGSTOP)
            time.sleep(1.5)
            os.kill(me, signal.SIGCONT)
            os._exit(0)
        time.sleep(0.1)
        os.wait()
        return lambda Q: ["yes"] * len(Q)

    assert (counts(as_learner(stopped, CLASSES), numbered_shards(2), time_limit=0.4)[:, YES] == 2).all()


@pytest.mark.parametrize("accident", ["leaves", "spins"])
def test_after_an_accident_the_others_vote_as_before(accident: str) -> None:
    def steady(X: Any, y: Any) -> Any:
        import random

        slope = float(X[:, 0].sum() + np.random.random() + random.random())  # noqa: NPY002
        return lambda Q: np.where((Q[:, 0] * slope) % 3 < 1, "yes", "maybe")

    def unsteady(X: Any, y: Any) -> Any:
        import os

        if int(X[0, 1]) == 3 and accident == "leaves":
            os._exit(1)
        while int(X[0, 1]) == 3:
            pass
        return steady(X, y)

    sharded = numbered_shards(8)
    expected = votes_by_teacher(as_learner(steady, CLASSES), sharded, QUESTIONS, n_jobs=2)
    assert len({tuple(cast) for cast in expected if cast is not None}) == 8
    expected[3] = None
    learner = as_learner(unsteady, CLASSES)
    assert votes_by_teacher(learner, sharded, QUESTIONS, n_jobs=2, time_limit=1.0) == expected


# Who sees what


def test_no_learner_sees_a_foreign_row(tmp_path: Path) -> None:
    folder = str(tmp_path)

    def notes_what_it_sees(X: Any, y: Any) -> Any:
        from pathlib import Path

        with (Path(folder) / f"{int(X[0, 1])}").open("a") as note:
            note.write("".join(f"{int(i)}\n" for i in X[:, 0]))
        # Nor is there a base array behind the rows that would hold the others.
        base = X.base
        assert base is None or base.size <= X.size
        return lambda Q: ["yes"] * len(Q)

    sharded = numbered_shards(7, rows_per_teacher=30)
    assert (counts(as_learner(notes_what_it_sees, CLASSES), sharded)[:, YES] == 7).all()
    for k in range(7):
        assert list(map(int, (tmp_path / str(k)).read_text().split())) == sharded.members(k).tolist()


def test_held_out_rows_are_kept_from_their_teacher_and_test_it() -> None:
    sharded = numbered_shards(5)
    held_out = np.arange(len(sharded.ids)) % 4 == 0
    held_out[sharded.members(3)] = False  # one teacher is tested on nothing
    held_out[sharded.members(4)] = True  # and one learns nothing

    def knows_what_it_saw(X: Any, y: Any) -> Any:
        seen = set(X[:, 0])
        assert not seen & set(np.arange(0.0, 100.0, 4)) or int(X[0, 1]) == 3
        return lambda Q: ["maybe" if one in seen else "yes" for one in Q[:, 0]]

    ballot = poll(
        as_learner(knows_what_it_saw, CLASSES), sharded, QUESTIONS, n_classes=3, n_jobs=1, held_out=held_out
    )
    for k in range(3):
        tested = sharded.members(k)[held_out[sharded.members(k)]]
        wrong = np.count_nonzero(sharded.labels[tested] != YES)
        assert ballot.own_errors()[k].tolist() == [wrong, len(tested)]
        assert len(tested) > 0
    assert ballot.own_errors()[3:].tolist() == [[0, 0], [0, 0]]
    assert (ballot.tallies().counts.sum(axis=1) == 5).all()
    assert (ballot.tallies().counts[:, NO] == 1).all()


@pytest.mark.parametrize("kind", ["numpy", "csr", "pandas", "polars", "arrow"])
def test_rows_of_every_kind_reach_the_learner(kind: str) -> None:
    make: dict[str, Callable[[Any], Any]] = {
        "numpy": np.asarray,
        "csr": sp.csr_matrix,
        "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]),
        "polars": lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        "arrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
    }
    plain = numbered_shards(4)
    sharded = Sharded(PrivateRows(make[kind](plain.rows.open())), plain.labels, plain.ids, plain.shards)
    learner = as_learner(DecisionTreeClassifier(), CLASSES)
    votes = votes_by_teacher(learner, sharded, make[kind](QUESTIONS))
    assert votes == votes_by_teacher(learner, plain, QUESTIONS)
    assert None not in votes


def test_questions_that_one_teacher_spoils_are_whole_for_the_next() -> None:
    def spoils(X: Any, y: Any) -> Any:
        def predict(Q: Any) -> Any:
            fresh = np.array_equal(Q, np.arange(100.0).reshape(50, 2))
            Q[:] = X[0, 0]
            return ["yes" if fresh else "maybe"] * len(Q)

        return predict

    assert (counts(as_learner(spoils, CLASSES), numbered_shards(20))[:, YES] == 20).all()


# Going on, keeping models, settings


def test_a_poll_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    sharded, path = numbered_shards(9), tmp_path / "ballot.npz"
    learner = as_learner(DecisionTreeClassifier(), CLASSES)

    def stop(done: int) -> None:
        if done == 4:
            raise RuntimeError("the power fails")

    with pytest.raises(RuntimeError, match="the power fails"):
        counts(learner, sharded, checkpoint=path, on_progress=stop)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    resumed = Ballot.load(path)
    assert len(resumed.missing()) == 5
    asked: list[int] = []
    poll(learner, sharded, QUESTIONS, n_classes=3, ballot=resumed, n_jobs=1, on_progress=asked.append)
    assert asked == [5, 6, 7, 8, 9]
    np.testing.assert_array_equal(resumed.tallies().counts, counts(learner, sharded))


def test_a_complete_ballot_asks_nobody() -> None:
    ballot = Ballot(N_QUESTIONS, 3, 2)
    for k in range(2):
        ballot.cast(k, None)
    sharded = numbered_shards(2)
    poll(as_learner(always("yes"), CLASSES), sharded, QUESTIONS, n_classes=3, ballot=ballot, n_jobs=1)
    assert (ballot.tallies().counts[:, NO] == 2).all()


def test_a_ballot_for_something_else_is_refused() -> None:
    learner = as_learner(always("yes"), CLASSES)
    with pytest.raises(InvalidParameter, match="ballot is for 50 questions, 3 classes and 4 teachers"):
        poll(learner, numbered_shards(5), QUESTIONS, n_classes=3, ballot=Ballot(N_QUESTIONS, 3, 4), n_jobs=1)


def test_kept_teachers_vote_as_polled_ones() -> None:
    sharded = numbered_shards(8)
    learner = as_learner(DecisionTreeClassifier(max_depth=2, max_features=1), CLASSES)
    seen: list[int] = []
    teachers = fit_teachers(learner, sharded, n_classes=3, n_jobs=1, on_progress=seen.append)
    assert len(teachers) == 8
    assert seen == list(range(1, 9))
    np.testing.assert_array_equal(teachers.votes(QUESTIONS).counts, counts(learner, sharded))
    assert len(teachers.votes(QUESTIONS[:1])) == 1
    assert repr(teachers) == "Teachers(8 teachers, private)"


def test_a_kept_teacher_that_fails_votes_for_the_fallback() -> None:
    learner = as_learner(always("yes"), CLASSES)
    teachers = Teachers(learner, (None, b"no pickle"), 3, n_jobs=1)
    assert teachers.votes(QUESTIONS).counts.tolist() == [[2, 0, 0]] * N_QUESTIONS


@pytest.mark.parametrize("wrong", [0, -2, 1.5, True, "2"])
def test_the_number_of_processes_is_checked(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="jobs is"):
        poll(as_learner(always("yes"), CLASSES), numbered_shards(2), QUESTIONS, n_classes=3, n_jobs=wrong)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf")])
def test_the_time_limit_is_checked(wrong: float) -> None:
    with pytest.raises(InvalidParameter, match="time_limit is"):
        counts(as_learner(always("yes"), CLASSES), numbered_shards(2), time_limit=wrong)


def test_a_learner_that_cannot_travel_is_refused() -> None:
    import threading

    lock = threading.Lock()

    def holds_a_lock(X: Any, y: Any) -> Any:
        with lock:
            return lambda Q: ["yes"] * len(Q)

    with pytest.raises(InvalidParameter, match="cannot be sent to worker processes"):
        counts(as_learner(holds_a_lock, CLASSES), numbered_shards(2))


def test_nothing_stays_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def leaves_a_file(X: Any, y: Any) -> Any:
        import tempfile

        with tempfile.NamedTemporaryFile(delete=False) as left:
            left.write(X.tobytes())
        inside = "mapl-" in left.name
        return lambda Q: ["yes" if inside else "maybe"] * len(Q)

    assert (counts(as_learner(leaves_a_file, CLASSES), numbered_shards(3))[:, YES] == 3).all()
    assert list(tmp_path.iterdir()) == []
