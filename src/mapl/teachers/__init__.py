"""Teachers: any learner, fitted on one shard at a time, whose votes are counted.

Names are imported when they are first used (`mapl.late_names`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapl.late_names import homes_of, import_late

if TYPE_CHECKING:
    from mapl.teachers.ballot import FALLBACK as FALLBACK
    from mapl.teachers.ballot import Ballot as Ballot
    from mapl.teachers.engine import Teachers as Teachers
    from mapl.teachers.engine import fit_teachers as fit_teachers
    from mapl.teachers.engine import poll as poll
    from mapl.teachers.learners.command import Command as Command
    from mapl.teachers.learners.learner import Learner as Learner
    from mapl.teachers.learners.learner import Predict as Predict
    from mapl.teachers.learners.learner import as_learner as as_learner
    from mapl.teachers.learners.presets import PRESETS as PRESETS
    from mapl.teachers.learners.presets import Preset as Preset
    from mapl.teachers.learners.presets import preset as preset
    from mapl.teachers.rehearsal import rehearse as rehearse

_HOMES = homes_of(
    {
        "mapl.teachers.ballot": "FALLBACK Ballot",
        "mapl.teachers.engine": "Teachers fit_teachers poll",
        "mapl.teachers.learners.command": "Command",
        "mapl.teachers.learners.learner": "Learner Predict as_learner",
        "mapl.teachers.learners.presets": "PRESETS Preset preset",
        "mapl.teachers.rehearsal": "rehearse",
    }
)

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return import_late(__name__, _HOMES, name)
