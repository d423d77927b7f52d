"""The folder of a run knows the newest head: a ledger that has lost it, or is another one, is not served from."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_in import StandInRun, questions

from mapl.errors import LedgerTampered
from mapl.noise import SeededCoins
from mapl.release.memory_ledger import MemoryLedger
from mapl.release.online import OnlineLedger, Reply
from mapl.release.sqlite_ledger import SqliteLedger
from mapl.service import noted_head
from mapl.service.clerk import Asked, Clerk
from mapl.service.noted_head import NotedHead
from mapl.service.service import Service


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NotedHead:
    monkeypatch.setattr(noted_head, "EVERY", 0.0)
    return NotedHead(tmp_path / "ledger.head")


def asked(ledger: OnlineLedger, noted: NotedHead, n: int) -> None:
    """Serve, and answer some questions."""
    run, coins = StandInRun(), SeededCoins(1)
    Service.open(run, ledger, coins, noted=noted)  # type: ignore[arg-type]
    rows = questions(n)
    (reply,) = Clerk(run, ledger, coins, noted).answer([Asked("ann", str(n), bytes(32), rows)])  # type: ignore[arg-type]
    assert isinstance(reply, Reply)


def test_the_head_of_what_was_answered_is_noted_for_its_owner_only(noted: NotedHead) -> None:
    ledger = MemoryLedger()
    asked(ledger, noted, 3)
    assert noted.path.read_text() == f"{ledger.head}\n"
    assert noted.path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in noted.path.parent.iterdir()] == [noted.path.name]
    noted.check(ledger)


@pytest.mark.parametrize("restored", ["in place", "anew"])
def test_an_old_copy_in_the_place_of_the_file_is_refused(tmp_path: Path, noted: NotedHead, restored: str) -> None:
    """Its inode may be that of the file it stands for, so the ledger alone takes it for itself."""
    path = tmp_path / "ledger.sqlite"
    with SqliteLedger(path) as ledger:
        asked(ledger, noted, 3)
    old = path.read_bytes()
    with SqliteLedger(path) as ledger:
        asked(ledger, noted, 5)
    if restored == "anew":
        path.unlink()
    path.write_bytes(old)
    with SqliteLedger(path) as ledger:
        ledger.verify()
        with pytest.raises(LedgerTampered, match="put back to an earlier state"):
            asked(ledger, noted, 7)


def test_a_ledger_that_was_removed_or_another_one_is_refused(tmp_path: Path, noted: NotedHead) -> None:
    with SqliteLedger(tmp_path / "one") as ledger:
        asked(ledger, noted, 3)
    with SqliteLedger(tmp_path / "other") as ledger:
        with pytest.raises(LedgerTampered, match="answered from another ledger"):
            asked(ledger, noted, 3)
        assert ledger.entries() == [], "nothing was begun in it"
    with SqliteLedger(tmp_path / "one") as ledger:
        asked(ledger, noted, 4)


def test_a_folder_that_cannot_be_written_does_not_keep_from_answering(tmp_path: Path) -> None:
    asked(MemoryLedger(), NotedHead(tmp_path / "nowhere" / "ledger.head"), 2)
