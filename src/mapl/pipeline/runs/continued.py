"""Notes of the runs that go on from a run, in its private half: no two of them take the same rest of a budget.

A run notes itself in every run that it goes on from, under their locks, before it spends. It is refused where
another run, which it does not count, has noted itself before. Why that is enough: docs/proofs/ledger.md, section 9.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from mapl.errors import InvalidData, InvalidParameter, PlanMismatch
from mapl.parameters import spell, takes
from mapl.pipeline.runs.file_lock import lock_file
from mapl.pipeline.runs.folder import RunFolder
from mapl.planning.plan import Plan, canonical
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.statement.plain_words import at_most


@dataclass(frozen=True, slots=True)
class Note:
    """A run that went on from another: its id, the name of its folder, and the budget that it took."""

    run_id: str
    run: str
    epsilon: float
    delta: float

    @classmethod
    def read(cls, line: str) -> Self:
        """Read one line; ValueError, KeyError or TypeError for what mapl did not write."""
        said = json.loads(line)
        return cls(str(said["run_id"]), str(said["run"]), float(said["epsilon"]), float(said["delta"]))


def notes_of(folder: RunFolder) -> list[Note]:
    """Return who has gone on from a run, in the order in which they did."""
    try:
        return _notes(folder, folder.continued.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as failure:
        raise _unreachable(folder, failure.strerror) from None


def refuse_uncounted(folder: RunFolder, notes: Sequence[Note], counted: Collection[str | None], terms: str) -> None:
    """Refuse to go on from a run from which another went on that is not counted.

    Parameters
    ----------
    counted
        The ids of all runs that count: those that were named, and those that their plans tell of.
    terms
        What the epsilons are about.
    """
    others = [note for note in notes if note.run_id not in counted]
    if others:
        last = others[-1]  # it counts everybody before it
        begun = f"; if it was begun, choose another {spell('out')}" if takes("out") else ""
        raise InvalidParameter(
            f"The run {last.run} went on from {folder.path} before and took epsilon {at_most(last.epsilon)} and "
            f"delta {at_most(last.delta)} ({terms}). Two runs must not take the same rest: name {last.run} with "
            f"{spell('continue')} as well, so that it counts. If it has not finished, finish it first, with the "
            f"command that began it. A run that was refused here has spent nothing{begun}."
        )


def take_rest(plan: Plan, run_id: str | None, new: str, earlier: Sequence[RunFolder]) -> None:
    """Note a run in all runs that it goes on from, once, or refuse it; durable on return. Nothing is spent before.

    Parameters
    ----------
    run_id, new
        The id of the new run's ledger, and what the run is called: the name of its folder, if it has one.
    earlier
        The folders of the runs that were named; the plan says which others count.
    """
    if plan.together is None:
        return
    if not earlier:
        raise InvalidParameter(
            "The plan goes on from earlier runs, and their folders are not given; hand them over, so that no other "
            "run takes the same rest."
        )
    if run_id is None:
        raise PlanMismatch(
            f"The run {new} was begun by a mapl that gave runs no ids, and cannot go on from others; "
            f"choose another {spell('out')} for a new run, which spends anew."
        )
    mine = Note(run_id, new, float(plan.budget.epsilon), float(plan.budget.delta))
    counted = {run_id, *(run.run_id for run in plan.together.runs)}
    terms = f"adjacency: {plan.adjacency}; unit: {plan.unit}"
    with _locked(earlier) as files:
        missing = []
        for folder, file in files:
            _refuse_copy(folder)
            notes = _notes(folder, _content(file))
            if mine not in notes:  # what came after an own note has counted this run
                refuse_uncounted(folder, notes, counted, terms)
                missing.append(file)
        for file in missing:
            _append(file, mine)


@contextmanager
def _locked(folders: Sequence[RunFolder]) -> Iterator[list[tuple[RunFolder, int]]]:
    """Hold the locks of all runs, taken in one order by everybody, so that nobody waits for one another."""
    with ExitStack() as closing:
        opened = {}
        for folder in folders:
            if not folder.has_private_half:
                raise no_private_half(folder)
            try:
                file = os.open(folder.continued, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                closing.callback(os.close, file)
                _keep_entry(folder.private)
            except OSError as failure:
                raise _unreachable(folder, failure.strerror) from None
            found = os.fstat(file)
            opened[found.st_dev, found.st_ino] = (folder, file)
        files = [opened[place] for place in sorted(opened)]
        for _, file in files:
            lock_file(file, wait=True)
        yield files


def _content(file: int) -> bytes:
    size = os.fstat(file).st_size
    return os.pread(file, size, 0)


def _notes(folder: RunFolder, content: bytes) -> list[Note]:
    whole = content[: _end(content)]
    try:
        return [Note.read(line) for line in whole.decode().splitlines()]
    except (ValueError, KeyError, TypeError):
        raise InvalidData(
            f"{folder.continued} is damaged, and tells no longer which runs went on from this one; restore its "
            "newest copy."
        ) from None


def _append(file: int, note: Note) -> None:
    end, line = _end(_content(file)), canonical(asdict(note)).encode() + b"\n"
    try:
        os.ftruncate(file, end)
        whole = os.pwrite(file, line, end) == len(line)
        os.fsync(file)
    except OSError:
        whole = False
    if not whole:
        raise InvalidData(
            "The note of this run could not be written into a run that it goes on from: the disk is full or "
            "failing. Nothing was spent; make room or repair it, and give the same command again."
        )


def _end(content: bytes) -> int:
    """Return where the last whole line ends: half a line was left by a process that died, and so spent nothing."""
    return content.rfind(b"\n") + 1


def _keep_entry(folder: Path) -> None:
    """Make a new file's entry in its folder durable."""
    entry = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)


def _refuse_copy(folder: RunFolder) -> None:
    """Refuse a copy of a run: notes in it are not in the other one."""
    if not folder.ledger.is_file():
        return  # of teachers that an earlier mapl taught, and that nobody has asked
    with SqliteLedger(folder.ledger) as ledger:
        if ledger.locked:
            raise InvalidParameter(
                f"{folder.path} is a copy of a run, or was moved or restored: two copies would each give away the "
                f"same rest. Name the original with {spell('continue')}; if there is no other, unlock this one "
                "with the newest head that was exported (mapl ledger unlock)."
            )


def no_private_half(folder: RunFolder) -> InvalidParameter:
    """Return the refusal of a run of which only the public half is here."""
    return InvalidParameter(
        f"The private half of {folder.path} is not here. A run that goes on from it notes there what it takes, so "
        "that no two runs take the same rest; run this where the private half is."
    )


def _unreachable(folder: RunFolder, why: str | None) -> InvalidParameter:
    return InvalidParameter(
        f"{folder.continued} cannot be used ({why}). A run that goes on from {folder.path} notes there what it "
        "takes, so that no two runs take the same rest; run this as whoever owns the private half."
    )
