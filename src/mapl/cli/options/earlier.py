"""The option ``--continue``: folders of earlier runs on the same people, for verbs that share one budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mapl.cli.console import warn
from mapl.errors import InvalidParameter
from mapl.planning.budgets.earlier_runs import EarlierRuns, compose_runs

if TYPE_CHECKING:
    from mapl.pipeline.runs.folder import RunFolder


def earlier_runs(folders: list[Path], *, new: Path | None = None) -> EarlierRuns | None:
    """Read and compose the runs that went before, None where none are given.

    A run from which another one went on that is not counted is refused.

    Parameters
    ----------
    new
        The folder of the run that goes on from them, which cannot be one of them; None where nothing will be spent.
    """
    if not folders:
        return None
    from mapl.pipeline.runs.earlier import read_run, refuse_missing, refuse_uncounted_runs
    from mapl.pipeline.runs.folder import RunFolder

    for folder in folders:
        if new is not None and folder.resolve() == new.resolve():
            raise InvalidParameter(
                f"{folder} is given with --continue and with --out; a run cannot go on from itself. Choose another "
                "--out for the new run. An unfinished run goes on with the command that began it."
            )
    found = compose_runs([read_run(folder) for folder in folders])
    assert found is not None
    # One that was begun may have noted itself; others that came after it have counted it.
    if new is None or not RunFolder(new).ledger.exists():
        missing = _warn_of_missing if new is None else refuse_missing
        refuse_uncounted_runs(folders, found, on_missing=missing)
    return found


def _warn_of_missing(folder: RunFolder) -> None:
    """Say what is not counted; nothing will be spent."""
    warn(
        f"the private half of {folder.path} is not here, which tells whether other runs went on from it; they are "
        "not counted, and mapl learn will ask for it."
    )
