"""The gallery: every example runs by itself, says something true, and is listed in its index."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "examples"
PAGE = runpy.run_path(str(ROOT / "docs" / "gallery_page.py"))
SHOWN: dict[str, str] = PAGE["shown"]()
SAYS_OTHERWISE = {
    "choosing_a_learner",
    "feature_selection",
    "oracle_online",
    "private_prediction",
    "reading_the_statement",
}
"""Examples in which coins decide about words, too."""

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
    "regression": (r"R2 ([\d.]+), off by", 0.3, 1.0),
    "soft_labels": (r"area under the curve ([\d.]+)", 0.75, 1.0),
    "texts_and_images": (r"(?:texts|images): accuracy ([\d.]+)", 0.85, 1.0),
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


def check(name: str, printed: str) -> None:
    """Look for what an example has to say, its figure, and a whole promise."""
    words, low, high = SAYS[name]
    figures = [float(found) for found in re.findall(words, printed)]
    assert figures, printed
    assert all(low <= figure <= high for figure in figures), printed
    assert re.search(PROMISE, printed, flags=re.DOTALL), printed


def words_of(printed: str) -> list[str]:
    """Return what was printed; coins are real, so a figure is any figure."""
    return re.sub(r"\b[0-9a-f]{12}\b|\d[\d,.e-]*", "#", printed).split()


@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_something_true_that_the_gallery_shows(name: str) -> None:
    printed = PAGE["run_example"](name)
    check(name, printed)
    if name not in SAYS_OTHERWISE:
        assert words_of(printed) == words_of(SHOWN[name]), "python docs/gallery_page.py writes the gallery anew"


def test_the_gallery_shows_every_example_as_it_is() -> None:
    assert list(SHOWN) == PAGE["names"]()
    for name, printed in SHOWN.items():
        check(name, printed)
    page = PAGE["PAGE"].read_text(encoding="utf-8")
    assert page == PAGE["written"](SHOWN), "python docs/gallery_page.py"
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ .*|^[=-]{3,}$", prose, re.MULTILINE)
    assert [one.split("]")[0] for one in heads] == ["# Gallery", *(f"## [{name}" for name in PAGE["names"]())]


def test_the_guide_to_stable_queries_runs() -> None:
    page = (ROOT / "docs" / "stable-queries.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 5
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)], capture_output=True, text=True, check=True
    )
    assert "aspirin" in shown.stdout
    assert "mean concave points" in shown.stdout
