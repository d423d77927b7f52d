"""The folder of a run: a private half that only its owner may enter, and a public half."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidData, InvalidParameter, PlanMismatch
from mapl.parameters import spell
from mapl.pipeline.runs.file_lock import lock_file, refuse_without_locks
from mapl.release.files.write_once import UNFINISHED, writable_above, write_once

SCHEMA = 1
SPARE_BYTES = 256 << 20
"""Room for votes, ledger, labels, student and report; a run that began must not starve in the middle."""


class InRun:
    """A place in the folder of every run."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __get__(self, run: RunFolder, owner: object) -> Path:
        return run.path / self.place


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run. The same command finds its unfinished run again and goes on; a finished one is never reopened."""

    path: Path

    private = InRun("private")
    public = InRun("public")
    key = InRun("private/shard.key")
    ballot = InRun("private/ballot.npz")
    ledger = InRun("private/ledger.sqlite")
    head_note = InRun("private/ledger.head")
    """The newest head of the ledger that a service has seen, wherever that ledger is."""
    teachers = InRun("private/teachers")
    """The models of teachers that are kept for questions to come."""
    table = InRun("private/table.json")
    """The table by which a taught run decides, calibrated once."""
    service_key = InRun("private/service.key")
    """The secret from which a service makes the digests of questions and of API keys."""
    continued = InRun("private/continued.jsonl")
    """Notes of the runs that went on from this one."""
    owner_check = InRun("private/check.json")
    """How the private table was read, for whoever may see that table."""
    scratch = InRun("private/scratch")
    """Temporary files of teachers, shards among them; it is there while a process is at work."""
    _request = InRun("private/request.json")
    """Written last when a run begins: without it there is no run yet."""
    _lock = InRun("private/lock")
    _finished = InRun("private/finished")
    student = InRun("public/student.skops")
    report = InRun("public/report.html")

    @property
    def has_private_half(self) -> bool:
        """Whether the private half is here, and may be entered."""
        return os.path.isfile(self._request)

    def student_of(self, number: int) -> Path:
        """The student of one of several labels, counted from 1 as they were named."""
        return self.public / f"student-{number}.skops"

    def refuse_if_used(self) -> None:
        """Refuse, before any work, a finished run, a foreign folder, and a place where no run can be kept."""
        self._refuse_finished()
        if self.path.exists() and not self.path.is_dir():
            raise InvalidParameter(f"{self.path} is a file; choose another folder with {spell('out')}.")
        if self._is_foreign():
            raise InvalidParameter(
                f"{self.path} is not empty and holds no run of mapl; choose another {spell('out')}."
            )
        self.refuse_unfit()

    def refuse_unfit(self) -> None:
        """Refuse a system without locks, a folder that cannot be written, and a disk that is too full."""
        refuse_without_locks()
        nearest = writable_above(self.path)
        free = shutil.disk_usage(nearest).free
        if free < SPARE_BYTES:
            raise InvalidParameter(
                f"{nearest} has {free >> 20} MiB free and a run needs up to {SPARE_BYTES >> 20}; "
                f"free some space or choose another {spell('out')}."
            )

    def read_key(self, seed: int | None = None) -> ShardKey:
        """Return the key of the run that was begun here, or a fresh one; for tests that of a seed."""
        return ShardKey.read(self.key) if self._request.exists() else ShardKey.of_seed(seed)

    @contextmanager
    def begun(self, request: Mapping[str, object], key: ShardKey) -> Iterator[None]:
        """Begin a run, or find the unfinished run of the same request, and keep other processes out meanwhile."""
        wanted = json.dumps({"schema": SCHEMA, **request}, sort_keys=True)
        self.private.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.private.chmod(0o700)
        self.public.mkdir(exist_ok=True)
        with _locked(self._lock, self.path):
            self._refuse_finished()
            for left_behind in self._half_written():
                left_behind.unlink()
            if not self._request.exists():
                self.key.unlink(missing_ok=True)  # of a process that was killed before it noted its request
                key.write(self.key)
                write_once(self._request, wanted.encode(), mode=0o600)
            if self._request.read_text(encoding="utf-8") != wanted or ShardKey.read(self.key) != key:
                raise PlanMismatch(
                    f"{self.path} holds an unfinished run with other settings, another learner, other tables or of "
                    "another version of mapl. Give the same command to go on with it, or choose another "
                    f"{spell('out')} for a new run, which spends anew."
                )
            with _made_anew(self.scratch):
                yield

    def request(self) -> dict[str, Any]:
        """Return what the run was begun with, which nobody can change who may write the public half alone."""
        try:
            said = json.loads(self._request.read_text(encoding="utf-8"))
        except FileNotFoundError:
            said = {}
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise InvalidData(f"{self._request} is damaged; restore the private half of the run.")
        return said

    @property
    def finished(self) -> bool:
        return self._finished.exists()

    def finish(self) -> None:
        """Note that everything public has been written."""
        self._finished.touch(mode=0o600)

    def _refuse_finished(self) -> None:
        if self._finished.exists():
            raise InvalidParameter(
                f"{self.path} holds a finished run. Learning again from the same people would spend again, and the "
                f"budgets add up; if that is meant, choose another {spell('out')}."
            )

    def _half_written(self) -> list[Path]:
        """Return what a killed process was writing."""
        checkpoints = self.private.glob(f".*{self.ballot.name}.*")  # several methods have a ballot each
        return [*checkpoints, *self.private.glob(f"{UNFINISHED}*"), *self.public.glob(f"{UNFINISHED}*")]

    def _is_foreign(self) -> bool:
        """Say whether there is anything that a beginning run would not have put there."""
        own = (self.private, self.public, self._lock, self.key)
        found = iter(()) if self._request.is_file() else self.path.rglob("*")
        return any(one not in own and not one.name.startswith(UNFINISHED) for one in found)


@contextmanager
def _made_anew(folder: Path) -> Iterator[None]:
    """Lend an empty folder that only its owner may enter; what a killed process left in it is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(path: Path, run: Path) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            lock_file(descriptor, wait=False)
        except BlockingIOError:
            raise InvalidParameter(
                f"Another process is at work on the run in {run}; wait until it has ended, or choose another "
                f"{spell('out')}."
            ) from None
        yield
    finally:
        os.close(descriptor)
