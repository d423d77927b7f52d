"""The gallery: every example runs by itself, says something true, and is listed in its index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "examples"

PROMISE = r"epsilon ([\d.]+) at delta ([\de.-]+).*adjacency: .*unit: "
"""Whatever an example prints about privacy names delta, adjacency and unit."""

SAYS: dict[str, tuple[str, float, float]] = {
    "active_questions": (r"asked about 100 of 600 public rows, accuracy ([\d.]+)", 0.8, 1.0),
    "best_of_models": (r"best: depth [48]\ndrawn: depth [48]\nepsilon ([\d.]+)", 0.0, 0.5),
    "cells": (r"accuracy ([\d.]+) from \d+ cells", 0.85, 1.0),
    "choosing_a_learner": (r"chosen: (?:teachers/ridge|teachers/ridge-bins|cells), accuracy ([\d.]+)", 0.5, 1.0),
    "feature_selection": (r"chosen: (?:x[012](?:, )?){1,3}\n(\d+) left out", 5, 12),
    "label_private": (r"accuracy ([\d.]+)", 0.8, 1.0),
    "multi_label": (r"(?:sport|music|travel|books): accuracy ([\d.]+)", 0.85, 1.0),
    "oracle_online": (r"\['right', 'left'\]\n\['right'\] asked before\n.*\n([23]) answered", 2, 3),
    "own_learner": (r"accuracy ([\d.]+)", 0.75, 1.0),
    "person_level": (r"accuracy ([\d.]+)", 0.75, 1.0),
    "private_prediction": (r"\['low', 'high', 'low'\]\nby \S+\nepsilon ([\d.]+)", 0.0, 2.0),
    "quickstart": (r"accuracy ([\d.]+)", 0.85, 1.0),
    "random_repetition": (r"best threshold 0\.\d+\nepsilon ([\d.]+) at delta 0", 0.9, 0.9),
    "reading_the_statement": (r"promised: epsilon ([\d.]+) at delta 1e-06", 0.1, 2.0),
    "soft_labels": (r"area under the curve ([\d.]+)", 0.75, 1.0),
    "top_category": (r"top category of smoking: never\n.*\n.*region: declined\nepsilon ([\d.]+)", 0.1, 1.0),
}
"""What has to be found in the output of each, and between which bounds its figure lies.

Coins are real: bounds are wide enough that a right example fails less than once in ten thousand runs or so.
"""


def test_every_example_is_run_and_listed() -> None:
    scripts = {path.stem for path in GALLERY.glob("*.py")}
    assert scripts == set(SAYS)
    listed = re.findall(r"\]\((\w+)\.py\)", (GALLERY / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(scripts)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_something_true(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-W", "error", str(GALLERY / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert shown.returncode == 0, shown.stderr[-2000:]
    words, low, high = SAYS[name]
    figures = [float(found) for found in re.findall(words, shown.stdout)]
    assert figures, shown.stdout
    assert all(low <= figure <= high for figure in figures), shown.stdout
    assert re.search(PROMISE, shown.stdout, flags=re.DOTALL), shown.stdout


def test_the_guide_to_stable_queries_runs() -> None:
    page = (ROOT / "docs" / "stable-queries.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 5
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)], capture_output=True, text=True, check=True
    )
    assert "aspirin" in shown.stdout
    assert "mean concave points" in shown.stdout
