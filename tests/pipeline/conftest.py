"""Watching runs from inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from watched import Poll, as_bytes

from mapl.data.units.shards import Sharded, ShardKey
from mapl.pipeline.votes import labelling
from mapl.teachers import Ballot, engine
from mapl.teachers.together.training import TrainedTogether
from mapl.teachers.workers.worker import VOTE


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[Poll]:
    """Give every run the same key, and note what becomes of its rows."""
    seen: list[Poll] = []
    real_poll, real_cast, real_count = labelling.poll, Ballot.cast, engine.count_together

    def cast(ballot: Ballot, k: int, votes: Any) -> None:
        seen[-1].votes[k] = None if votes is None else np.asarray(votes).tobytes()
        real_cast(ballot, k, votes)

    def count(syllabus: Any, trained: TrainedTogether, questions: Any, n_classes: int) -> Any:
        for k, weights in trained.weights.items():
            alone = real_count(syllabus, TrainedTogether({k: weights}), questions, n_classes)
            seen[-1].votes[k] = None if weights is None else alone.argmax(axis=1).astype(VOTE).tobytes()
        return real_count(syllabus, trained, questions, n_classes)

    def poll(learner: Any, sharded: Sharded, questions: Any, **named: Any) -> Ballot:
        content = [as_bytes(sharded.shard(k)[0]) + as_bytes(sharded.shard(k)[1]) for k in range(sharded.n_teachers)]
        seen.append(Poll(content, as_bytes(questions)))
        ballot = real_poll(learner, sharded, questions, **named)
        seen[-1].own_errors = ballot.own_errors().tolist()
        seen[-1].counts = ballot.tallies().counts.copy()
        return ballot

    monkeypatch.setattr(ShardKey, "fresh", classmethod(lambda cls: cls(b"k" * 32)))
    monkeypatch.setattr(Ballot, "cast", cast)
    monkeypatch.setattr(engine, "count_together", count)
    monkeypatch.setattr(labelling, "poll", poll)
    return seen


@pytest.fixture
def polled(mapl: Callable[..., Any], clinic: Any, polls: list[Poll], tmp_path: Path) -> Callable[..., Poll]:
    """Run ``mapl learn`` on a private table and return what happened inside."""

    def run(private: pa.Table, *more: Any, command: Callable[..., list[Any]] = clinic.arguments) -> Poll:
        number = len(polls)
        path = tmp_path / f"private-{number}.parquet"
        pa.parquet.write_table(private, path)
        ran = mapl(*command("--out", f"run-{number}", *more, private=path))
        assert ran.code == 0, ran.stderr
        return polls[-1]

    return run
