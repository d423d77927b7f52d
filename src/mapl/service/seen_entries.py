"""What a client remembers of the ledgers behind its answers: their numbers only ever grow."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

import orjson

from mapl.errors import InvalidData, InvalidParameter, LedgerRolledBack
from mapl.pipeline.runs.file_lock import lock_file, refuse_without_locks

HEADER = "Mapl-Entry"
"""Where a server tells the number of the newest entry of its ledger, and which ledger that is; and where a client
tells what it has seen, so that a server which was put back refuses before it draws anything."""

LONGEST = 1000
ENTRY = re.compile(r"([0-9]{1,18}) ([0-9a-f]{16})")


def numbers_in(told: str) -> dict[str, int]:
    """Read the numbers that a header tells, by the name of their ledger; what is none is passed over."""
    return {name: int(number) for number, name in ENTRY.findall(told[:LONGEST])}


class SeenEntries:
    """The highest number of an entry that was seen of each ledger; several threads may share it.

    Parameters
    ----------
    path
        A file that remembers them over restarts, for any number of processes; without it they end with the object.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._lock = path, Lock()
        self._highest: dict[str, int] = {}
        if path is not None:
            self._merge(path, {})

    def now(self) -> Mapping[str, int]:
        """Return what was seen before a call is made: replies of calls at the same time may overtake each other."""
        with self._lock:
            return dict(self._highest)

    def header(self) -> dict[str, str]:
        """Return the header that tells a server what was seen."""
        told = ", ".join(f"{number} {name}" for name, number in self.now().items())
        return {HEADER: told} if told else {}

    def take(self, told: str | None, before: Mapping[str, int]) -> None:
        """Remember what a reply tells, or refuse it if its ledger has gone back behind what was seen `before`.

        Raises
        ------
        LedgerRolledBack
            If the number went back, or a reply tells none after others did.
        """
        found = None if told is None else ENTRY.fullmatch(told)
        if found is None:
            if before:
                raise _gone_back("no longer tells how far its ledger has come")
            return
        number, ledger = int(found[1]), found[2]
        if number < before.get(ledger, 0):
            raise _gone_back(f"has gone back from entry {before[ledger]} of its ledger to {number}")
        with self._lock:
            if number > self._highest.get(ledger, -1):
                self._highest[ledger] = number
                if self._path is not None:
                    self._merge(self._path, {ledger: number})

    def _merge(self, path: Path, new: Mapping[str, int]) -> None:
        """Write what is new beside what others wrote, and take over theirs; never a lower number."""
        refuse_without_locks()
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as failure:
            raise InvalidParameter(
                f"The witness {path} cannot be written ({failure.strerror}); name a file in a folder that can be."
            ) from None
        try:
            lock_file(file, wait=True)
            text = os.pread(file, os.fstat(file).st_size, 0)
            try:
                stored = {str(name): int(number) for name, number in orjson.loads(text or b"{}").items()}
            except (ValueError, AttributeError, TypeError):
                raise InvalidData(f"{path} holds no entries that a client saw; name another file.") from None
            for name, number in (*stored.items(), *new.items()):
                self._highest[name] = max(number, self._highest.get(name, -1))
            if new:
                # Names stay and numbers grow, so what is written is never shorter than what it replaces.
                os.pwrite(file, orjson.dumps(self._highest), 0)
        finally:
            os.close(file)


def _gone_back(what: str) -> LedgerRolledBack:
    return LedgerRolledBack(
        f"The server {what}: it was put back to an earlier state, and would draw answers anew that it has given "
        "before. This reply is not used. Tell whoever runs the server, and ask nothing there until it is mended."
    )
