"""``mapl demo``: the main job on a built-in ensemble."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mapl.cli import demo
from mapl.types import ADJACENCY, UNIT

Mapl = Callable[..., Any]


def test_the_demo_runs_prints_and_repeats(mapl: Mapl) -> None:
    start = time.perf_counter()
    ran = mapl("demo")
    assert ran.code == 0, ran.stderr
    assert time.perf_counter() - start < 15
    text = " ".join(ran.stdout.replace("│", " ").split())
    for part in (
        "at delta 1e-05",
        ADJACENCY,
        UNIT,
        "label accuracy",
        "made up",
        "The result is in mapl-demo/public",
    ):
        assert part in text
    said = json.loads(Path("mapl-demo/public/statement.json").read_text())
    assert said["private"] is True
    assert said["epsilon"] <= 2
    assert said["answered"] > 100
    assert said["teachers"] == 250
    assert np.load("mapl-demo/private/votes.npy").shape == (1000, 3)
    Path("mapl-demo/left-over").touch()
    assert mapl("demo", "--epsilon", 4).code == 0
    assert not Path("mapl-demo/left-over").exists()
    assert json.loads(Path("mapl-demo/public/statement.json").read_text())["budget_epsilon"] == 4


def test_a_foreign_folder_is_left_alone(mapl: Mapl) -> None:
    Path("mine").mkdir()
    Path("mine/precious").touch()
    ran = mapl("demo", "--out", "mine")
    assert ran.code == 2
    assert "not an earlier demo's" in ran.stderr
    assert [p.name for p in Path("mine").iterdir()] == ["precious"]


def test_bad_budgets_leave_the_earlier_demo(mapl: Mapl) -> None:
    for epsilon in ("-1", "nan", "inf", "0.001"):
        assert mapl("demo", "--epsilon", epsilon).code == 2
        assert not Path("mapl-demo").exists()


def test_nobodys_shard_depends_on_others() -> None:
    key = b"k" * 32
    people = [f"person-{i}" for i in range(2000)]
    alone = np.concatenate([demo.shards([person], key) for person in people])
    np.testing.assert_array_equal(demo.shards(people, key), alone)
    assert (demo.shards(people, b"other") != alone).mean() > 0.9
    sizes = np.bincount(alone, minlength=demo.N_TEACHERS)
    assert sizes.max() < 30


def test_a_teacher_without_two_classes_casts_a_fixed_vote() -> None:
    questions = np.random.default_rng(0).standard_normal((5, demo.N_FEATURES))
    rows = np.ones((3, demo.N_FEATURES))
    for n in (0, 3):
        votes = demo.teacher_votes(rows[:n], np.full(n, 2, dtype=np.int32), questions)
        assert votes.tolist() == [0] * 5


def test_one_person_changes_one_teacher() -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.standard_normal((40, demo.N_FEATURES)), rng.integers(3, size=40).astype(np.int32)
    questions = rng.standard_normal((200, demo.N_FEATURES))
    assert (demo.teacher_votes(rows, labels, questions) == demo.teacher_votes(rows, labels, questions)).all()
    assert set(demo.teacher_votes(rows, labels, questions)) <= {0, 1, 2}
