"""Who remembers the newest head outside the ledger: from a ledger that has lost it, nothing is answered.

A ledger cannot know that it is an old copy of itself, put back under its old name, or that it is new because
somebody removed the other one or named another address. A file elsewhere can, and so can whoever wrote a head down.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mapl.errors import InvalidParameter, LedgerError, LedgerRolledBack
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.inquiries import OnlineLedger

LONGEST = 128
"""Bytes that a note has at most."""


@dataclass(slots=True)
class NotedHead:
    """One line in a file: the number and the hash of the newest entry that was answered from.

    It is written in place, with one call of the system, whenever an answer is about to leave: a process that is
    killed leaves the old line or the new one. `settle` waits for the disk.

    Parameters
    ----------
    path
        The file; made if it is not there.
    needed
        Whether nothing may be answered where it cannot be written. The one in the folder of a run is not: such a
        folder may be mounted read-only.
    """

    path: Path
    needed: bool = False
    _noted: HeadMark | None = None

    def check(self, ledger: OnlineLedger) -> None:
        """Refuse a ledger that does not contain the head which was noted last.

        Without a note any ledger is taken; but where the note is needed, only one that nobody was answered from:
        the disk of a witness that is not mounted is an empty folder.
        """
        try:
            with _locked(self.path, os.O_RDONLY, fcntl.LOCK_SH) as file:
                noted = self._read(file)
        except FileNotFoundError:
            noted = None
        except OSError:
            raise self._unreadable() from None
        if noted is None and self.needed and ledger.mark is not None and _has_answered(ledger):
            raise self._absent()
        if noted is not None and not ledger.holds(noted):
            raise self._lost()

    def note(self, ledger: OnlineLedger) -> None:
        """Note the newest entry that the ledger has shown, if it goes on from what is noted; cheap if it is.

        Raises LedgerRolledBack, and leaves the note as it is, where the ledger has lost what is noted.
        """
        mark = ledger.mark
        if mark is None or mark == self._noted:
            return
        try:
            with _locked(self.path, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as file:
                noted = self._read(file)
                if noted is None and self.needed and self._noted is not None:
                    raise self._absent()  # its disk went away under a running server
                # What this process noted itself is part of the chain that it goes on with; others write here too.
                if noted not in (None, self._noted) and not ledger.holds(noted):
                    raise self._lost()
                if noted is None or noted.number is None or noted.number < (mark.number or 0):
                    os.pwrite(file, f"{mark}\n".encode(), 0)
                self._noted = mark
        except OSError as failure:
            if self.needed:
                raise LedgerError(
                    f"The witness {self.path} cannot be written ({failure.strerror}); without it nothing is "
                    "answered. Repair it, or serve with another file."
                ) from None

    def settle(self) -> None:
        """Wait until the note is on the disk."""
        with suppress(OSError), _locked(self.path, os.O_RDONLY, fcntl.LOCK_SH) as file:
            os.fsync(file)

    def _read(self, file: int) -> HeadMark | None:
        try:
            text = os.pread(file, LONGEST, 0).decode().strip()
            return HeadMark.read(text) if text else None
        except (ValueError, InvalidParameter):
            raise self._unreadable() from None

    def _unreadable(self) -> LedgerError:
        return LedgerError(f"{self.path} cannot be read; repair it, since it tells which ledger is ours.")

    def _absent(self) -> LedgerError:
        return LedgerError(
            f"The witness {self.path} is not there, or empty, and questions were answered from this ledger: "
            "nothing tells whether it was put back. Mount the disk of the witness; or, for a new one, write the "
            "newest head that you know of into the file, NUMBER:HASH as mapl ledger show tells it."
        )

    def _lost(self) -> LedgerRolledBack:
        return LedgerRolledBack(
            "This run has answered from another ledger, or its ledger was removed or put back to an earlier state: "
            f"the head noted in {self.path} is not in it. Serve from the ledger that has it; if there is none any "
            "more, count the whole budget as spent."
        )


@dataclass(frozen=True, slots=True)
class Witness:
    """All who remember: files that are written with every group, and heads that an operator gave."""

    files: Sequence[NotedHead] = ()
    heads: Sequence[HeadMark] = ()

    def check(self, ledger: OnlineLedger) -> None:
        """Refuse a ledger that lacks what anybody remembers."""
        for head in self.heads:
            if not ledger.holds(head):
                raise LedgerRolledBack(
                    f"The ledger does not contain the head {head} that was given: it was put back to an earlier "
                    "state, or it is another run's. Serve from the ledger that has it; if there is none any more, "
                    "count the whole budget as spent."
                )
        for file in self.files:
            file.check(ledger)

    def note(self, ledger: OnlineLedger) -> None:
        """Note what the ledger has shown; a ledger that has lost what is noted is shut."""
        try:
            for file in self.files:
                file.note(ledger)
        except LedgerRolledBack:
            ledger.shut()
            raise

    def settle(self) -> None:
        """Wait until all notes are on their disks."""
        for file in self.files:
            file.settle()


def _has_answered(ledger: OnlineLedger) -> bool:
    """Say whether anything was answered, by whichever stage."""
    return any(one.answered or one.abstained for one in ledger.entries())


@contextmanager
def _locked(path: Path, how: int, lock: int) -> Iterator[int]:
    """Open a file by its name, since it may have been replaced, for one process at a time."""
    file = os.open(path, how | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, lock)
        yield file
    finally:
        os.close(file)
