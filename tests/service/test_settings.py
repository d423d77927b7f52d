"""What a server is told when it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapl.cli import app
from mapl.errors import InvalidParameter
from mapl.service.serving import Opening, ledger_url, serve
from mapl.service.settings import ServerSettings


def test_an_opening_survives_the_way_to_a_worker() -> None:
    settings = ServerSettings(hosts=("a.example", "b.example"), tick=0.005, access_log=True)
    for opening in (
        Opening(Path("run")),
        Opening(Path("a run"), "postgresql://ledger", Path("student.skops"), settings),
        Opening(Path("run"), witness=Path("/mnt/elsewhere/head"), head="a" * 64),
    ):
        assert Opening.from_json(opening.to_json()) == opening


def test_the_ledger_of_a_run_is_in_its_private_half_unless_said_otherwise(tmp_path: Path) -> None:
    assert ledger_url(tmp_path / "a run") == f"sqlite:///{tmp_path}/a%20run/private/ledger.sqlite"
    assert ledger_url(tmp_path, "postgresql://ledger") == "postgresql://ledger"


@pytest.mark.parametrize(
    "odd", [{"most_rows": 0}, {"tick": 0.0}, {"tick": 2.0}, {"rows_per_second": float("nan")}, {"burst": 0}]
)
def test_odd_settings_are_refused(odd: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(odd))):
        ServerSettings(**odd)  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", [("serve", "--port", "0"), ("keys", "list"), ("keys", "create", "--name", "a")])
def test_a_folder_without_teachers_is_told_apart(verb: tuple[str, ...], tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, [*verb, str(tmp_path)])
    assert shown.exit_code == 2
    assert "mapl teach" in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_several_workers_need_a_ledger_that_they_can_share() -> None:
    with pytest.raises(InvalidParameter, match="one worker"):
        serve(Opening(Path("run"), "memory:"), host="127.0.0.1", port=0, workers=2)
