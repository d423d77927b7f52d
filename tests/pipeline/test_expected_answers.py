"""What a run with an error estimate says that it expects to answer is what it answers, if votes follow the law."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from mapl.planning.votes.erring import SPREAD

K, RATE = 300, 0.05
TRAIN = f"""
def train(X, y):
    import numpy as np

    k = int(np.random.get_state()[1][0])  # the number of a teacher is its seed

    def predict(rows):
        at = (k + rows["turn"].to_numpy()) % {K}
        right = at < np.floor(rows["share"].to_numpy() * {K} + 0.5)
        return np.where((rows["truth"].to_numpy() > 0.5) == right, "yes", "no")

    return predict
"""


def rows(n: int, random: np.random.Generator) -> dict[str, Any]:
    """Return questions on which a share of the teachers is right that follows the law."""
    return {
        "share": random.beta(SPREAD * (1 - RATE), SPREAD * RATE, n),
        "turn": random.integers(0, K, n).astype(np.float64),
        "truth": random.integers(0, 2, n).astype(np.float64),
    }


def test_a_run_answers_as_many_as_it_says(mapl: Callable[..., Any], tmp_path: Path) -> None:
    """600 questions, teachers that err on 5%: six groups of questions set T to 2, and the run halted after a few.

    The number of abstentions is about Poisson with mean m; the run must stay within five of its deviations, which
    fails by chance once in a million runs.
    """
    random = np.random.default_rng(7)
    private = rows(30 * K, random)
    label = np.where(private["truth"] > 0.5, "yes", "no")
    pa.parquet.write_table(pa.table({**private, "id": np.arange(30 * K), "label": label}), "private.parquet")
    pa.parquet.write_table(pa.table(rows(600, random)), "public.parquet")
    Path("law.py").write_text(TRAIN)
    ran = mapl(
        *("learn", "private.parquet", "--public", "public.parquet", "--label", "label", "--classes", "no,yes"),
        *("--unit", "id", "--epsilon", 3, "--delta", 1e-5, "--teachers", K, "--learner", "law:train"),
        *("--student", "ridge", "--mechanism", "ladder", "--error-share", 0.2, "--seed", 1, "--jobs", 1),
        *("--out", "run"),
    )
    assert ran.code == 0, ran.stderr
    said = " ".join(ran.stdout.replace("│", " ").split())
    expected = int(re.search(r"expected to answer (\d+) of 600", said)[1])  # type: ignore[index]
    labels = pa.parquet.read_table(tmp_path / "run" / "public" / "labels.parquet")["label"]
    answered = len(labels) - labels.null_count
    assert expected < 600
    assert abs(answered - expected) <= 5 * np.sqrt(600 - expected) + 1
