"""The option ``--continue``: folders of earlier runs on the same people, for verbs that share one budget."""

from __future__ import annotations

from pathlib import Path

from mapl.errors import InvalidParameter
from mapl.planning.earlier_runs import EarlierRuns, composed


def earlier_runs(folders: list[Path], *, new: Path | None = None) -> EarlierRuns | None:
    """Read and compose the runs that went before, None where none are given.

    Parameters
    ----------
    new
        The folder of the run that goes on from them, which cannot be one of them.
    """
    if not folders:
        return None
    from mapl.pipeline.earlier_folders import read_run

    for folder in folders:
        if new is not None and folder.resolve() == new.resolve():
            raise InvalidParameter(
                f"{folder} is given with --continue and with --out; a run cannot go on from itself. Choose another "
                "--out for the new run. An unfinished run goes on with the command that began it."
            )
    return composed([read_run(folder) for folder in folders])
