"""A copy of a ledger is known for one even where it has the number of the file that it was copied from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from mapl.errors import LedgerError
from mapl.release.ledger.chain import START, Entry
from mapl.release.ledger.file_home import ATTRIBUTE, MISSING, FileHome, settle
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.sqlite import SqliteLedger

PLAN, LIMITS = "f" * 64, Limits.of({"labels": Limit(5, 5)})

VOLUMES = """
set -e
mkdir one other
mount -t tmpfs none one
mount -t tmpfs none other
{python} {script} make one/ledger.sqlite
cp {how} one/ledger.sqlite other/ledger.sqlite
{python} {script} spend other/ledger.sqlite
"""


def spend(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        ledger.open(PLAN, LIMITS)
        if not ledger.progress("labels").started:
            ledger.append(Entry(START, "labels"))
        ledger.progress("labels")
        ledger.append(Entry("answers", "labels"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    spend(tmp_path / "l")
    return tmp_path / "l"


def noted(path: Path) -> FileHome:
    raw = apsw.Connection(str(path))
    home = FileHome.read(raw.execute("SELECT place FROM home").fetchall()[0][0])
    raw.close()
    assert home is not None
    return home


def note(path: Path, home: FileHome | str) -> None:
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE home SET place = ?", (str(home),))
    raw.close()


@pytest.mark.parametrize("how", ["", "-a"])
def test_the_first_files_of_two_fresh_volumes_are_told_apart(tmp_path: Path, how: str) -> None:
    """Before, both were number 2 of their volume, and two servers spent from one budget."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs to mount two file systems of its own")
    words = VOLUMES.format(python=sys.executable, script=__file__, how=how)
    ran = subprocess.run(["unshare", "-m", "sh", "-c", words], cwd=tmp_path, capture_output=True, text=True)
    if "mount" in ran.stderr:
        pytest.skip("needs to mount two file systems of its own")
    made, copied = (int(line.split()[1]) for line in ran.stdout.splitlines())
    assert made == copied
    assert ran.returncode == 7, ran.stderr


def test_every_part_that_is_known_counts(path: Path) -> None:
    home = noted(path)
    assert home.nonce not in (None, MISSING)
    assert home.same_as(FileHome.of(path))
    for other in (
        replace(home, inode=home.inode + 1),
        replace(home, born="1.000000000"),
        replace(home, nonce="0" * 32),
        replace(home, volume="1"),
    ):
        known = all((getattr(home, name) is None) == (getattr(other, name) is None) for name in ("born", "volume"))
        note(path, other)
        if known:
            with pytest.raises(LedgerError, match="is locked: two copies"):
                spend(path)
    note(path, home)
    spend(path)


def test_what_a_system_does_not_tell_is_not_compared(path: Path) -> None:
    home = noted(path)
    for fewer in (FileHome(home.inode), replace(home, volume=None), replace(home, born=None)):
        note(path, fewer)
        spend(path)
    for nonsense in ("", "cluster 5", "file x", f"file {home.inode}, born here"):
        note(path, nonsense)
        with pytest.raises(LedgerError, match="is locked"):
            spend(path)


def test_a_copy_that_left_the_nonce_behind_is_locked(path: Path) -> None:
    """As one that came to have the same inode, on a file system that does not keep when a file was made."""
    nonce = os.getxattr(path, ATTRIBUTE)
    note(path, FileHome(noted(path).inode, nonce=noted(path).nonce))
    os.removexattr(path, ATTRIBUTE)
    with pytest.raises(LedgerError, match="is locked"):
        spend(path)
    os.setxattr(path, ATTRIBUTE, nonce)
    spend(path)


def test_a_ledger_may_be_renamed_and_its_rights_changed(path: Path, tmp_path: Path) -> None:
    path.chmod(0o640)
    folder = tmp_path / "folder"
    folder.mkdir()
    moved = path.rename(folder / "ledger.sqlite")
    spend(moved)
    folder.rename(tmp_path / "elsewhere")
    spend(tmp_path / "elsewhere" / "ledger.sqlite")


def test_an_unlocked_copy_has_a_nonce_of_its_own(path: Path, tmp_path: Path) -> None:
    shutil.copy2(path, tmp_path / "copy")  # takes attributes along
    with SqliteLedger(tmp_path / "copy") as copy:
        assert copy.locked
        copy.unlock(copy.head)
        assert not copy.locked
    assert noted(tmp_path / "copy").nonce != noted(path).nonce
    spend(tmp_path / "copy")


def test_homes_are_read_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    home = settle(tmp_path / "f")
    assert FileHome.read(str(home)) == home
    assert FileHome.read(f"file {home.inode}") == FileHome(home.inode)


if __name__ == "__main__":
    verb, file = sys.argv[1:]
    print(verb, os.stat(file).st_ino if verb == "spend" else "", end="\n" if verb == "spend" else "")
    try:
        spend(Path(file))
    except LedgerError as refusal:
        sys.exit(7 if "is locked" in str(refusal) else 8)
    if verb == "make":
        print(os.stat(file).st_ino)
