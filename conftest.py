"""What tests and the examples in docstrings have in common."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# By default an example that takes 200 ms by the clock fails, which on a busy machine any of them may.
settings.register_profile("whatever the clock says", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whatever the clock says")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are gathered: libraries and tests stay, and looking took a fifth of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor later among what was there when the first test began
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for examples only in files that have some: most have none, and each would be imported and searched."""
    found = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text("utf-8"):
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found


@pytest.fixture(autouse=True)
def nobody_was_fitted_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test be a process of its own to estimators, which remember that they spent."""
    if (guarded := sys.modules.get("mapl.estimators.guard.guarded")) is not None:
        monkeypatch.setattr(guarded, "FITS", guarded.EarlierFits())
