"""`mapl doctor` tells people and programs the same, and its exit code says whether a run can start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mapl.pipeline import machine


def test_a_fit_machine(mapl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_free_memory", lambda: 8 << 30)
    shown, told = mapl("doctor", tmp_path), mapl("doctor", tmp_path, "--json")
    assert (shown.code, told.code) == (0, 0)
    assert "Next: mapl demo" in shown.stdout
    record = json.loads(told.stdout)
    assert record["fit"] is True
    assert {"what": "memory", "state": "fine", "words": "8.0 GiB are free"} in record["findings"]
    assert all(one["what"].split()[0] in shown.stdout for one in record["findings"])


def test_trouble_has_its_own_exit_code(mapl: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown, told = mapl("doctor", tmp_path / "file"), mapl("doctor", tmp_path / "file", "--json")
    assert (shown.code, told.code) == (2, 2)
    assert "!!" in shown.stdout
    assert json.loads(told.stdout)["fit"] is False
