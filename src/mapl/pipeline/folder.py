"""The folder of a run: a private half that only its owner may enter, and a public half."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from mapl.data.shards import ShardKey
from mapl.errors import InvalidParameter, PlanMismatch
from mapl.release.write_once import write_once

SCHEMA = 1
SPARE_BYTES = 256 << 20
"""Room for votes, ledger, labels, student and report; a run that began must not starve in the middle."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run. The same command finds its unfinished run again and goes on; a finished one is never reopened."""

    path: Path

    @property
    def private(self) -> Path:
        return self.path / "private"

    @property
    def public(self) -> Path:
        return self.path / "public"

    @property
    def key(self) -> Path:
        return self.private / "shard.key"

    @property
    def ballot(self) -> Path:
        return self.private / "ballot.npz"

    @property
    def ledger(self) -> Path:
        return self.private / "ledger.sqlite"

    @property
    def _request(self) -> Path:
        return self.private / "request.json"

    @property
    def _finished(self) -> Path:
        return self.private / "finished"

    @property
    def student(self) -> Path:
        return self.public / "student.skops"

    @property
    def report(self) -> Path:
        return self.public / "report.html"

    def refuse_if_used(self) -> None:
        """Refuse, before any work, a finished run, a foreign folder, and a disk that is too full."""
        if self._finished.exists():
            raise InvalidParameter(
                f"{self.path} holds a finished run. Learning again from the same people would spend again, and the "
                "budgets add up; if that is meant, choose another --out."
            )
        if self.path.exists() and not self.path.is_dir():
            raise InvalidParameter(f"{self.path} is a file; choose another folder with --out.")
        if self.path.exists() and not self.private.is_dir() and any(self.path.iterdir()):
            raise InvalidParameter(f"{self.path} is not empty and holds no run of mapl; choose another --out.")
        nearest = next(folder for folder in (self.path, *self.path.absolute().parents) if folder.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise InvalidParameter(f"{nearest} cannot be written; choose another folder with --out.")
        free = shutil.disk_usage(nearest).free
        if free < SPARE_BYTES:
            raise InvalidParameter(
                f"{nearest} has {free >> 20} MiB free and a run needs up to {SPARE_BYTES >> 20}; "
                "free some space or choose another --out."
            )

    def begin(self, request: dict[str, object], key: ShardKey) -> None:
        """Make the folder, or find the unfinished run of the same request in it."""
        self.private.mkdir(parents=True, exist_ok=True)
        self.private.chmod(0o700)
        self.public.mkdir(exist_ok=True)
        wanted = json.dumps({"schema": SCHEMA, **request}, sort_keys=True)
        if self._request.exists():
            if self._request.read_text() != wanted:
                raise PlanMismatch(
                    f"{self.path} holds an unfinished run with other settings or another table. Give the same "
                    "command to go on with it, or choose another --out for a new run, which spends anew."
                )
            return
        if not self.key.exists():
            key.write(self.key)
        write_once(self._request, wanted.encode(), mode=0o600)

    def finish(self) -> None:
        """Note that everything public has been written."""
        self._finished.touch()
