"""What a machine is found to be: fit for runs here, and told in words where it is not."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from mapl.errors import EntropyFailure
from mapl.noise import SystemCoins
from mapl.pipeline import machine
from mapl.pipeline.machine import EXTRAS, Symptom, examine

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def found(folder: Path, what: str) -> Symptom:
    (one,) = (one for one in examine(folder) if one.what.split()[0] == what.split()[0] and what in one.what)
    return one


def test_where_tests_run_everything_is_in_place_and_nothing_is_left_behind(tmp_path: Path) -> None:
    troubles = [one for one in examine(tmp_path) if one.state == "trouble" and one.what != "memory"]
    assert troubles == []
    assert list(tmp_path.iterdir()) == []
    assert found(tmp_path / "not" / "there", "folder").state == "fine"
    assert list(tmp_path.iterdir()) == []


def test_every_extra_for_users_is_looked_at() -> None:
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - {"test", "docs"}


def test_a_missing_or_old_package_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["numpy>=99", "typer", "nowhere-to-be-found>=1", 'absent-loop; extra == "serve"']
    monkeypatch.setattr(machine, "requires", lambda name: asked)
    own = found(tmp_path, "packages")
    assert own.state == "trouble"
    assert "numpy>=99 in place of" in own.words
    assert "nowhere-to-be-found" in own.words
    assert "typer" not in own.words
    serve = found(tmp_path, "extra serve")
    assert (serve.state, serve.words.endswith("pip install 'mapl[serve]' (missing: absent-loop)")) == (
        "absent",
        True,
    )
    assert found(tmp_path, "extra onnx").state == "fine"


@pytest.mark.parametrize("words", [lambda *_: _no_bits(), lambda _, n: np.zeros(n)])
def test_a_generator_that_fails_or_repeats_is_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: object
) -> None:
    monkeypatch.setattr(SystemCoins, "words", words)
    assert found(tmp_path, "random bits").state == "trouble"


def _no_bits() -> None:
    raise EntropyFailure("No bits.")


def test_little_memory_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_free_memory", lambda: 300 << 20)
    assert found(tmp_path, "memory") == Symptom("memory", "trouble", "0.3 GiB are free; large tables need more")


def test_a_folder_that_is_a_file_or_keeps_no_permissions_is_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file" in found(tmp_path / "file", "folder").words
    monkeypatch.setattr(os, "chmod", lambda path, mode: None)
    monkeypatch.setattr(machine.stat, "S_IMODE", lambda mode: 0o777)
    assert "others could read" in found(tmp_path, "folder").words


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others_is_trouble(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in found(tmp_path, "folder").words
