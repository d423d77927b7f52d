"""The parameter `earlier`: runs and fits on the same people that a fit goes on from, within one budget."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from mapl.errors import InvalidParameter
from mapl.pipeline.runs.continued import Note, take_rest
from mapl.pipeline.runs.earlier import read_run, refuse_missing, refuse_uncounted_runs
from mapl.pipeline.runs.folder import RunFolder
from mapl.planning.budgets.earlier_runs import EarlierRun, EarlierRuns, compose_runs
from mapl.planning.plan import Plan
from mapl.release import Ledger
from mapl.release.statement.plain_words import at_most
from mapl.types import RECORD

NOTES: dict[str, list[Note]] = {}
"""By the id of a fit, who went on from it in this process; runs in folders have their notes there."""

_NOTING = Lock()


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a fit goes on from: runs by their folders, fits by their ids, and what all of them promise."""

    runs: EarlierRuns
    folders: tuple[Path, ...]
    fits: tuple[str, ...]

    @classmethod
    def of(cls, given: Any) -> Earlier | None:
        """Read folders and fitted estimators; None where none are given."""
        if given is None:
            return None
        listed = given if isinstance(given, (list, tuple)) else [given]
        folders = tuple(Path(one) for one in listed if isinstance(one, (str, os.PathLike)))
        fitted = [one for one in listed if not isinstance(one, (str, os.PathLike))]
        runs = compose_runs([*map(read_run, folders), *map(_promise_of, fitted)])
        if runs is None:
            return None
        found = cls(runs, folders, tuple(one.statement_.run_id for one in fitted))
        refuse_uncounted_runs(folders, runs, on_missing=refuse_missing)
        found._refuse_uncounted_fits({run.run_id for run in runs.runs})
        return found

    def unit_of(self, unit: str | None) -> str | None:
        """Return the unit of a fit: ids without a name are of the unit that the earlier runs protect."""
        named = unit is not None and self.runs.unit != RECORD
        return self.runs.unit if named else unit

    def take_rest(self, plan: Plan, ledger: Ledger, name: str) -> None:
        """Note a fit in all that it goes on from, or refuse it; nothing is spent before."""
        run_id = ledger.run_id
        assert run_id is not None  # a fit begins its ledger itself
        counted = {run_id, *(run.run_id for run in self.runs.runs)}
        note = Note(run_id, name, float(plan.budget.epsilon), float(plan.budget.delta))
        with _NOTING:
            self._refuse_uncounted_fits(counted)
            if self.folders:
                take_rest(plan, run_id, name, [RunFolder(one) for one in self.folders])
            for one in self.fits:
                NOTES.setdefault(one, []).append(note)

    def _refuse_uncounted_fits(self, counted: set[str | None]) -> None:
        others = [note for one in self.fits for note in NOTES.get(one, ()) if note.run_id not in counted]
        if others:
            last = others[-1]
            raise InvalidParameter(
                f"{last.run} went on from a fit that is given as earlier, and took epsilon {at_most(last.epsilon)} "
                f"and delta {at_most(last.delta)} ({self.runs.runs[0].terms}). Two fits must not take the same "
                "rest: give that one as earlier as well, so that it counts. Nothing was spent."
            )


def _promise_of(fitted: Any) -> EarlierRun:
    """Return what a fitted estimator promised."""
    plan, said = getattr(fitted, "plan_", None), getattr(fitted, "statement_", None)
    if not isinstance(plan, Plan) or said is None:
        raise InvalidParameter(
            f"earlier has a {type(fitted).__name__} that is no fit of mapl; give folders of runs that mapl learn "
            "wrote, or fitted estimators of mapl."
        )
    return EarlierRun.of(name_of(fitted, said.run_id), plan=plan.to_json(), statement=said.to_json())


def name_of(face: Any, run_id: str | None) -> str:
    """Return what a fit is called where others are told of it."""
    return f"{type(face).__name__} {str(run_id)[:8]}"
