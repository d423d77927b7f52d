"""The shared console: a progress bar for long work on a terminal, silence otherwise."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mapl.cli import console
from mapl.errors import BudgetExhausted


def test_a_progress_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True))
    with console.progress("Releasing", console.LONG_WORK) as on_progress:
        assert on_progress is not None
        on_progress(console.LONG_WORK // 2)
    assert "Releasing" in screen.getvalue()


@pytest.mark.parametrize(("terminal", "total"), [(False, 10**7), (True, 1000)])
def test_no_progress_bar_elsewhere(monkeypatch: pytest.MonkeyPatch, terminal: bool, total: int) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=terminal))
    with console.progress("Releasing", total) as on_progress:
        assert on_progress is None
    assert screen.getvalue() == ""


def test_an_exhausted_budget_ends_with_3(mapl: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise BudgetExhausted("The limits are used up.")

    monkeypatch.setattr("mapl.cli.learning.demo.refuse_foreign", exhausted)
    assert callable(mapl)
    ran = mapl("demo")
    assert (ran.code, ran.stderr) == (3, "mapl: The limits are used up.\n")
