"""Whoever knows the newest head: a ledger that has lost it, or is another one, is not served from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from stand_in import StandInRun, questions, serving

from mapl.errors import InvalidParameter, LedgerError, LedgerRolledBack
from mapl.noise import SeededCoins
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.inquiries import OnlineLedger, Reply
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.service.answering.clerk import Clerk, RowsAsked
from mapl.service.service import Service
from mapl.service.watching import vigil
from mapl.service.watching.witness import NotedHead, Witness


@pytest.fixture
def noted(tmp_path: Path) -> NotedHead:
    return NotedHead(tmp_path / "ledger.head")


def clerk_of(ledger: OnlineLedger, *noted: NotedHead, heads: tuple[HeadMark, ...] = ()) -> Callable[[int], Reply]:
    """Serve, and return what answers that many questions."""
    run, coins, witness = StandInRun(), SeededCoins(1), Witness(noted, heads)
    Service.open(run, ledger, coins, witness=witness)  # type: ignore[arg-type]
    clerk = Clerk(run, ledger, coins, witness)  # type: ignore[arg-type]

    def ask(n: int) -> Reply:
        (reply,) = clerk.answer([RowsAsked("ann", str(n), bytes(32), questions(n))])
        assert isinstance(reply, Reply)
        return reply

    return ask


def asked(ledger: OnlineLedger, noted: NotedHead, n: int) -> None:
    """Serve, and answer some questions."""
    clerk_of(ledger, noted)(n)


def restore(path: Path, old: Path) -> None:
    """Put an old copy back as `.restore` of the sqlite3 shell does, under whoever has the file open."""
    target, source = apsw.Connection(str(path)), apsw.Connection(str(old))
    with target.backup("main", source, "main") as work:
        work.step(-1)
    target.close()
    source.close()


def copy(path: Path, to: Path) -> None:
    """Copy a file that is in use, as `.backup` of the sqlite3 shell does."""
    restore(to, path)


def test_every_group_is_noted_for_its_owner_only(noted: NotedHead) -> None:
    ledger = MemoryLedger()
    ask = clerk_of(ledger, noted)
    for n in (3, 4, 5):
        ask(n)
        assert noted.path.read_text() == f"{n - 1}:{ledger.head}\n"
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
        with pytest.raises(LedgerRolledBack, match="put back to an earlier state"):
            asked(ledger, noted, 7)


def test_a_ledger_put_back_under_a_server_is_refused_and_stays_so(tmp_path: Path, noted: NotedHead) -> None:
    """Before, the count dropped, the note was replaced, and forgotten questions were drawn anew."""
    path, old, newest = tmp_path / "l", tmp_path / "old", tmp_path / "newest"
    with SqliteLedger(path) as ledger:
        ask = clerk_of(ledger, noted)
        ask(3)
        copy(path, old)
        answered = ask(9)
        head = noted.path.read_text()
        copy(path, newest)
        restore(path, old)
        for n in (9, 4):
            with pytest.raises(LedgerRolledBack, match=r"put back to an earlier state.*Put the newest ledger back"):
                ask(n)
        assert noted.path.read_text() == head
    with SqliteLedger(path) as ledger:  # also without a note: the ledger itself remembers
        assert ledger.rolled_back
        ask = clerk_of(ledger)
        assert ask(3).labels.shape == (3,), "what is on record is still told"
        with pytest.raises(LedgerRolledBack):
            ask(4)
        with pytest.raises(LedgerRolledBack):
            asked(ledger, noted, 4)
    restore(path, newest)  # whoever puts the newest one back is served again
    with SqliteLedger(path) as ledger:
        again = clerk_of(ledger, noted)(9)
        assert again.labels.tolist() == answered.labels.tolist()


def test_a_ledger_that_grew_again_after_it_was_put_back_is_another_one(tmp_path: Path, noted: NotedHead) -> None:
    """Numbers alone would not tell: the entry of the same number must be the same entry."""
    path, old = tmp_path / "l", tmp_path / "old"
    with SqliteLedger(path) as ledger:
        ask = clerk_of(ledger, noted)
        ask(3)
        copy(path, old)
        ask(4)
        restore(path, old)
        with SqliteLedger(path) as other:
            elsewhere = clerk_of(other)
            for n in (5, 6, 7):
                elsewhere(n)
        with pytest.raises(LedgerRolledBack):
            ask(8)


def test_a_ledger_that_was_removed_or_another_one_is_refused(tmp_path: Path, noted: NotedHead) -> None:
    with SqliteLedger(tmp_path / "one") as ledger:
        asked(ledger, noted, 3)
    with SqliteLedger(tmp_path / "other") as ledger:
        with pytest.raises(LedgerRolledBack, match="answered from another ledger"):
            asked(ledger, noted, 3)
        assert ledger.entries() == [], "nothing was begun in it"
    with SqliteLedger(tmp_path / "one") as ledger:
        asked(ledger, noted, 4)


def test_servers_that_share_a_note_go_on_from_each_other(tmp_path: Path) -> None:
    notes = [NotedHead(tmp_path / "note") for _ in range(2)]
    with SqliteLedger(tmp_path / "l") as one, SqliteLedger(tmp_path / "l") as other:
        first, second = clerk_of(one, notes[0]), clerk_of(other, notes[1])
        for n in (3, 5, 7):
            first(n)
            second(n + 1)
            assert notes[0].path.read_text().strip() == str(other.look())
        first(8)  # a reply that the other one recorded
        assert notes[0].path.read_text().strip() == str(one.look())


def test_two_that_have_parted_are_noticed_by_the_note_they_share(tmp_path: Path, noted: NotedHead) -> None:
    """Each of two clones of a volume finds itself at home; the note on a third shows that there are two."""
    with SqliteLedger(tmp_path / "l") as one:
        ask = clerk_of(one, noted)
        ask(3)
        copy(tmp_path / "l", tmp_path / "clone")
        raw = apsw.Connection(str(tmp_path / "clone"))
        raw.execute("UPDATE home SET place = ?", (SqliteLedger(tmp_path / "clone")._place(),))
        raw.close()
        with SqliteLedger(tmp_path / "clone") as other:
            clone = clerk_of(other, NotedHead(noted.path))
            ask(4)
            with pytest.raises(LedgerRolledBack):
                clone(5)
            assert other.rolled_back
        ask(6)


def test_a_folder_that_cannot_be_written_is_helped_by_a_witness_elsewhere(tmp_path: Path) -> None:
    """As where it is mounted read-only beside a database."""
    in_vain = NotedHead(tmp_path / "nowhere" / "ledger.head")
    asked(MemoryLedger(), in_vain, 2)
    elsewhere = NotedHead(tmp_path / "elsewhere", needed=True)
    path, old = tmp_path / "l", tmp_path / "old"
    with SqliteLedger(path) as ledger:
        clerk_of(ledger, in_vain, elsewhere)(2)
        copy(path, old)
        clerk_of(ledger, in_vain, elsewhere)(3)
    restore(path, old)
    with SqliteLedger(path) as ledger:
        clerk_of(ledger, in_vain)  # silent, for want of a witness
        with pytest.raises(LedgerRolledBack, match="elsewhere is not in it"):
            clerk_of(ledger, in_vain, elsewhere)


def test_without_the_witness_that_was_named_nothing_leaves(tmp_path: Path) -> None:
    needed = NotedHead(tmp_path / "mount" / "head", needed=True)
    with pytest.raises(LedgerError, match=r"witness .*head cannot be written.*without it nothing is answered"):
        clerk_of(MemoryLedger(), needed)
    needed.path.parent.mkdir()
    ledger = MemoryLedger()
    ask = clerk_of(ledger, needed)
    ask(2)
    head = needed.path.read_text()
    needed.path.unlink()
    needed.path.parent.rmdir()
    for _ in range(2):  # recorded the first time, and then a reply that is on record
        with pytest.raises(LedgerError, match="cannot be written"):
            ask(3)
    needed.path.parent.mkdir()
    for left in (None, ""):  # an empty folder is a disk that is not mounted; so is an empty file
        if left is not None:
            needed.path.write_text(left)
        with pytest.raises(LedgerError, match=r"not there, or empty.*Mount the disk"):
            ask(3)
    needed.path.write_text(head)
    assert len(ask(3).labels) == 3
    assert needed.path.read_text().strip() == str(ledger.mark)


def test_a_head_that_was_given_must_be_there(tmp_path: Path) -> None:
    path, old = tmp_path / "l", tmp_path / "old"
    with SqliteLedger(path) as ledger:
        clerk_of(ledger)(3)
        copy(path, old)
        clerk_of(ledger)(4)
        mark = ledger.look()
        for head in (mark, HeadMark(None, mark.hash)):
            clerk_of(ledger, heads=(head,))
    restore(path, old)
    with SqliteLedger(path) as ledger:
        for head in (mark, HeadMark(None, mark.hash)):
            with pytest.raises(LedgerRolledBack, match=f"does not contain the head {head} that was given"):
                clerk_of(ledger, heads=(head,))


def test_heads_are_read_as_they_are_written() -> None:
    for mark in (HeadMark(17, "a" * 64), HeadMark(None, "0" * 64)):
        assert HeadMark.read(f" {mark}\n") == mark
    for nonsense in ("", "a" * 63, "A" * 64, f"-1:{'a' * 64}", f"x:{'a' * 64}", f"1:2:{'a' * 64}", "a" * 65):
        with pytest.raises(InvalidParameter, match="64 hexadecimal digits"):
            HeadMark.read(nonsense)


def test_a_note_that_is_none_is_not_overwritten(tmp_path: Path, noted: NotedHead) -> None:
    for spoiled in (b"nonsense\n", b"\xff\xfe"):
        noted.path.write_bytes(spoiled)
        with pytest.raises(LedgerError, match="cannot be read; repair it"):
            clerk_of(MemoryLedger(), noted)
        assert noted.path.read_bytes() == spoiled


def test_a_note_of_an_earlier_version_is_taken_over(tmp_path: Path, noted: NotedHead) -> None:
    ledger = MemoryLedger()
    clerk_of(ledger)(2)
    noted.path.write_text(f"{ledger.head}\n")
    asked(ledger, noted, 3)
    assert noted.path.read_text() == f"3:{ledger.head}\n"
    noted.path.write_text(f"{'a' * 64}\n")
    with pytest.raises(LedgerRolledBack):
        asked(ledger, noted, 4)


def test_what_others_wrote_is_noted_when_idle_and_at_the_end(
    tmp_path: Path, noted: NotedHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vigil, "EVERY", 0.01)
    synced: list[int] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(file), sync(file)))
    path = tmp_path / "l"
    with serving(ledger=SqliteLedger(path), witness=Witness([noted])), SqliteLedger(path) as other:
        ask = clerk_of(other)
        ask(3)
        while noted.path.read_text().strip() != str(other.mark):  # nobody asks the server
            pass
        monkeypatch.setattr(vigil, "EVERY", 1e9)
        while not synced:
            pass
        ask(4)
    with SqliteLedger(path) as ledger:
        assert noted.path.read_text().strip() == str(ledger.look())


def test_a_server_says_that_its_ledger_was_put_back(tmp_path: Path) -> None:
    path, old = tmp_path / "l", tmp_path / "old"
    with serving(ledger=SqliteLedger(path)) as served, served.client() as client:
        assert client.post("/v1/answers", json={"rows": questions(3)}).status_code == 200
        copy(path, old)
        assert client.post("/v1/answers", json={"rows": questions(9)}).status_code == 200
        restore(path, old)
        for _ in range(2):
            reply = client.post("/v1/answers", json={"rows": questions(9)})
            assert (reply.status_code, reply.json()["type"]) == (503, "urn:mapl:problem:ledger-rolled-back")
            assert "until whoever runs this server has put the newest ledger back" in reply.json()["detail"]
            assert "Retry-After" not in reply.headers
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/budget").json()["answered"] == 3


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_witness_that_is_not_mounted_is_missed(tmp_path: Path, left: str) -> None:
    """A ledger was put back while the witness's disk was not there, and a new note was made without a word."""
    (mount := tmp_path / "mount").mkdir()
    ledger = MemoryLedger()
    clerk_of(ledger, NotedHead(mount / "head", needed=True))(2)
    head = (mount / "head").read_text()
    (mount / "head").unlink()
    if left == "an empty file":
        (mount / "head").touch()
    with pytest.raises(LedgerError, match=r"not there, or empty, and questions were answered.*Mount the disk"):
        NotedHead(mount / "head", needed=True).check(ledger)
    (mount / "head").write_text(head)  # as an operator would who knows it
    NotedHead(mount / "head", needed=True).check(ledger)
    NotedHead(tmp_path / "new", needed=True).check(MemoryLedger())
