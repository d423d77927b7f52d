"""Earlier runs on the same people, read from the public halves of their folders."""

from __future__ import annotations

from pathlib import Path

from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.published import PLAN, STATEMENT
from mapl.planning.earlier_runs import EarlierRun


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
