"""`mapl` alone says what to do next, and the tab key knows verbs and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mapl.cli.next_steps import suggest_steps
from mapl.cli.verbs import VERBS


def test_mapl_alone_suggests_a_first_step(mapl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = mapl()
    assert ran.code == 0
    assert ran.stdout.splitlines()[2].startswith("  mapl demo ")
    named = {line.split()[1] for line in ran.stdout.splitlines()[2:]}
    assert {one for one in named if not one.startswith("--")} <= set(VERBS)


def test_where_students_are_they_come_first(tmp_path: Path) -> None:
    for run in ("own run", "mapl-demo/run"):
        (tmp_path / run / "public").mkdir(parents=True)
        (tmp_path / run / "public" / "student.skops").touch()
    first, second, third, *_ = suggest_steps(tmp_path).splitlines()[2:]
    assert first.startswith("  mapl predict 'own run/public/student.skops' new.csv")
    assert second.startswith("  mapl report 'own run'")
    assert third.startswith("  mapl predict mapl-demo/run/public/student.skops new.csv")


@pytest.mark.parametrize(
    ("typed", "offered"), [("mapl le", "learn learners ledger"), ("mapl doctor --j", "--json")]
)
def test_the_tab_key_completes(typed: str, offered: str) -> None:
    asked = {"_MAPL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    code = "import sys; sys.argv[0] = 'mapl'; from mapl.cli import app; app(prog_name='mapl')"
    said = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
    assert said.stdout.split() == offered.split()
