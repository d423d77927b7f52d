"""Earlier runs on the same people, read from the public halves of their folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.runs.continued import no_private_half, notes_of, refuse_uncounted
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.published import PLAN, STATEMENT
from mapl.planning.budgets.earlier_runs import EarlierRun, EarlierRuns


def refuse_uncounted_runs(
    folders: Iterable[Path], found: EarlierRuns, *, on_missing: Callable[[RunFolder], None]
) -> None:
    """Tell early what a run would be refused for when it notes itself in the others, before it spends.

    Parameters
    ----------
    found
        All runs that count.
    on_missing
        What to do about a run whose private half, which has the notes, is not here.
    """
    counted = {run.run_id for run in found.runs}
    for folder in map(RunFolder, folders):
        if folder.has_private_half:
            refuse_uncounted(folder, notes_of(folder), counted, found.runs[0].terms)
        else:
            on_missing(folder)


def refuse_missing(folder: RunFolder) -> None:
    """Refuse to go on from a run whose private half is not here."""
    raise no_private_half(folder)


def read_run(folder: Path) -> EarlierRun:
    """Read the public files of a run that tell its promise; nothing private is opened."""
    public = RunFolder(folder).public
    try:
        planned = (public / PLAN).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidParameter(
            f"{folder} holds no run: {PLAN} is missing in its public half. Give the folder that mapl learn wrote."
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InvalidData(f"{PLAN} in {public} cannot be read; restore the public half of the run.") from None
    try:
        said = (public / STATEMENT).read_text(encoding="utf-8")
    except FileNotFoundError:
        said = None
    except (OSError, UnicodeDecodeError):
        raise InvalidData(f"{STATEMENT} in {public} cannot be read; restore the public half of the run.") from None
    return EarlierRun.of(str(folder), plan=planned, statement=said, place=str(folder.resolve()))
