"""The stored table of a taught run: what a server decides by, without searching, and without believing a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from kept_teachers import taught

from mapl.errors import PlanMismatch
from mapl.mechanisms import AnyMechanism
from mapl.noise import ONE
from mapl.pipeline.online import run as online
from mapl.pipeline.online.run import OnlineRun


@pytest.fixture(scope="module", params=["ladder", "threshold-ladder"])
def run(clinic: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path_factory.mktemp("taught") / "run"
    taught(clinic, folder, mechanism=request.param, settings={"max_abstentions": 2})
    return folder


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run that a test may spoil."""
    return Path(shutil.copytree(run, tmp_path / "copy"))


def table(folder: Path) -> Path:
    return folder / "private" / "table.json"


def integers(mechanism: AnyMechanism) -> list[int]:
    return list(mechanism.rungs.numerators)  # type: ignore[attr-defined]


def searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[AnyMechanism, bool]:
    """Return the mechanism that a run decides by, and whether it had to be searched for."""
    calls: list[Any] = []
    real = online.calibrate_mechanism
    with monkeypatch.context() as patch:
        patch.setattr(online, "calibrate_mechanism", lambda *given: calls.append(given) or real(*given))
        return OnlineRun.read(folder).mechanism, bool(calls)


def test_a_stored_table_is_the_one_that_calibrating_gives(
    run: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, was_searched = searched(run, monkeypatch)
    assert not was_searched
    table(copy).unlink()  # as in runs that an older version taught
    anew, was_searched = searched(copy, monkeypatch)
    assert was_searched
    assert type(stored) is type(anew)
    assert (integers(stored), stored.parameters) == (integers(anew), anew.parameters)
    assert stored.total == anew.total


def spoil(said: dict[str, Any], how: str) -> Any:
    """Return a table that answers more readily than it may, or none at all."""
    rungs = said["numerators"]
    return {
        "one rung higher": lambda: {**said, "numerators": [*rungs[:2], min(ONE, 2 * rungs[3]), *rungs[3:]]},
        "certain": lambda: {**said, "numerators": [ONE] * len(rungs)},
        "more than certain": lambda: {**said, "numerators": [*rungs[:-1], ONE + 1]},
        "below zero": lambda: {**said, "numerators": [-1, *rungs[1:]]},
        "fractions": lambda: {**said, "numerators": [float(one) for one in rungs]},
        "too large": lambda: {**said, "numerators": [1 << 80] * len(rungs)},
        "shorter": lambda: {**said, "numerators": rungs[:-1]},
        "nested": lambda: {**said, "numerators": [rungs]},
        "none": lambda: {**said, "numerators": []},
        "other plan": lambda: {**said, "plan": "0" * 64},
        "other form": lambda: {**said, "format": "mapl table 2"},
        "a list": lambda: [said],
    }[how]()


@pytest.mark.parametrize(
    "how",
    [
        *("one rung higher", "certain", "more than certain", "below zero", "fractions", "too large", "shorter"),
        *("nested", "none", "other plan", "other form", "a list"),
    ],
)
def test_a_table_that_does_not_pass_decides_nothing(
    run: Path, copy: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(copy).write_text(json.dumps(spoil(json.loads(table(copy).read_text()), how)))
    found, was_searched = searched(copy, monkeypatch)
    assert was_searched
    assert integers(found) == integers(OnlineRun.read(run).mechanism)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, bytes(range(156, 256))], ids=len)
def test_a_damaged_table_is_searched_for_again(
    run: Path, copy: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(copy).write_bytes(content)
    found, was_searched = searched(copy, monkeypatch)
    assert was_searched
    assert integers(found) == integers(OnlineRun.read(run).mechanism)


def test_a_table_is_for_its_plan_alone(run: Path, copy: Path) -> None:
    """Whoever edits the public half gets nothing by it: the private half knows the plan."""
    path = copy / "public" / "plan.json"
    said = json.loads(path.read_text())
    said["stages"][0]["parameters"]["price_per_abstention"] *= 2
    path.write_text(json.dumps(said))
    with pytest.raises(PlanMismatch, match="was edited"):
        _ = OnlineRun.read(copy).mechanism
