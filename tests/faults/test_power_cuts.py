"""Power that fails while a ledger is written: every answer that was told is on the disk, whatever else is.

Run as a script, this file answers groups of questions and leaves behind all that SQLite asked of the disk, in its
order. The test then puts together what the disk may hold after a cut at any of these moments: all that was synced,
and of what was not, any sectors or none.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from test_ledger_failures import answered, begun, check_whole

GROUPS = 40
CUTS = 10
SECTOR = 512
WRITE, SHORTEN, SYNC, TOLD = "write", "shorten", "sync", "told"


class Asked(NamedTuple):
    """Something that SQLite asked of the disk, or an answer that was told in between."""

    what: str
    file: str = ""
    offset: int = 0
    data: bytes = b""


class Remembering(apsw.VFS):
    """The usual files, and a list of all that happened to them."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        super().__init__("remembering", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # SQLite's name
        asked = self.asked
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        own = "" if path is None else os.path.basename(path)

        class File(apsw.VFSFile):
            def xWrite(self, data: Any, offset: int) -> None:
                asked.append(Asked(WRITE, own, offset, bytes(data)))
                super().xWrite(data, offset)

            def xTruncate(self, size: int) -> None:
                asked.append(Asked(SHORTEN, own, size))
                super().xTruncate(size)

            def xSync(self, flags: int) -> None:
                asked.append(Asked(SYNC, own))
                super().xSync(flags)

        return File("unix", name, flags)


def play(path: str, *, careless: bool) -> None:
    """Answer groups of questions, and end without a word to the database."""
    disk = Remembering()
    ledger: Any = begun(f"sqlite:///{path}")
    ledger._execute("PRAGMA wal_autocheckpoint = 60")  # so that the log is carried over now and then
    if careless:
        ledger._execute("PRAGMA synchronous = OFF")
    disk.asked.append(Asked(TOLD))  # that there is a ledger
    for number in range(GROUPS):
        assert answered(ledger, number)
        disk.asked.append(Asked(TOLD))
    Path(f"{path}.asked").write_bytes(pickle.dumps([tuple(one) for one in disk.asked]))
    os._exit(0)


def play_apart(path: Path, *how: str) -> list[Asked]:
    """Let another process answer, and return what it asked of the disk."""
    subprocess.run([sys.executable, __file__, str(path), *how], check=True)
    found: list[Asked] = [Asked(*one) for one in pickle.loads(Path(f"{path}.asked").read_bytes())]
    return found


def survivors(asked: Sequence[Asked], chance: random.Random | None) -> bytes:
    """Return what a file may hold after a cut: what was synced, and by chance sectors of what was not."""
    synced = max((place for place, one in enumerate(asked) if one.what == SYNC), default=-1)
    held = bytearray()
    for place, one in enumerate(asked):
        safe = place < synced
        if one.what == SHORTEN and (safe or (chance is not None and chance.random() < 0.5)):
            del held[one.offset :]
        if one.what == WRITE:
            for start in range(0, len(one.data), SECTOR):
                if safe or (chance is not None and chance.random() < 0.5):
                    piece, at = one.data[start : start + SECTOR], one.offset + start
                    held.extend(bytes(max(0, at + len(piece) - len(held))))
                    held[at : at + len(piece)] = piece
    return bytes(held)


def cuts(path: Path, asked: list[Asked], moments: Sequence[int], seed: int) -> Iterator[int]:
    """Put the disk into the state after each cut; yield how many groups had been told by then."""
    chance = random.Random(seed)
    for turn, moment in enumerate(moments):
        before = asked[:moment]
        for file in (path.name, f"{path.name}-wal"):
            held = survivors([one for one in before if one.file == file], None if turn % 2 else chance)
            with open(path.with_name(file), "r+b" if path.with_name(file).exists() else "wb") as disk:
                disk.truncate(0)  # the file stays the same one, as on a disk that lost power
                disk.write(held)
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
        yield sum(one.what == TOLD for one in before) - 1


def is_whole(path: Path, told: int) -> bool:
    ledger = begun(f"sqlite:///{path}")
    try:
        check_whole(ledger, told, more=1)
    except AssertionError:
        return False
    finally:
        ledger.close()
    return True


def test_no_cut_loses_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "l"
    asked = play_apart(path)
    first = next(place for place, one in enumerate(asked) if one.what == TOLD) + 1
    carried = [one for one in asked[first:] if one.file == "l"]
    assert {WRITE, SYNC} <= {one.what for one in carried}  # the log was carried over, so cuts hit that, too
    told = [place + 1 for place, one in enumerate(asked) if one.what == TOLD]
    moments = [*random.Random(1).sample(told, CUTS), *random.Random(2).sample(range(first, len(asked)), 3 * CUTS)]
    found = [is_whole(path, published) for published in cuts(path, asked, moments, seed=3)]
    assert len(found) == 4 * CUTS
    assert all(found)


def test_a_ledger_that_does_not_wait_for_its_disk_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "l"
    asked = play_apart(path, "careless")
    told = [place + 1 for place, one in enumerate(asked) if one.what == TOLD]
    moments = random.Random(4).sample(told[CUTS:], 4)
    found = []
    for published in cuts(path, asked, moments, seed=5):
        try:
            found.append(is_whole(path, published))
        except Exception:  # a database that lost sectors may be none any more
            found.append(False)
    assert not any(found)


if __name__ == "__main__":
    play(sys.argv[1], careless="careless" in sys.argv[2:])
