"""Teachers: any learner, fitted on one shard at a time, whose votes are counted."""

from mapl.teachers.ballot import FALLBACK, Ballot
from mapl.teachers.engine import Teachers, fit_teachers, poll
from mapl.teachers.learners.command import Command
from mapl.teachers.learners.learner import Learner, Predict, as_learner, rehearse
from mapl.teachers.learners.presets import PRESETS, Preset, preset

__all__ = [
    "FALLBACK",
    "PRESETS",
    "Ballot",
    "Command",
    "Learner",
    "Predict",
    "Preset",
    "Teachers",
    "as_learner",
    "fit_teachers",
    "poll",
    "preset",
    "rehearse",
]
