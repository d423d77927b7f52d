"""Everything that learns from released labels and public rows only.

Names are imported when they are first used (`mapl.late_names`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapl.late_names import import_late

if TYPE_CHECKING:
    from mapl.students.exports.export import export as export
    from mapl.students.file.card import model_card as model_card
    from mapl.students.file.student_file import check_storable as check_storable
    from mapl.students.file.student_file import load as load
    from mapl.students.file.student_file import save as save
    from mapl.students.strategies.cleaned import Cleaned as Cleaned
    from mapl.students.strategies.imputed import Imputed as Imputed
    from mapl.students.strategies.names import STRATEGIES as STRATEGIES
    from mapl.students.strategies.names import Strategy as Strategy
    from mapl.students.strategies.plain import Plain as Plain
    from mapl.students.strategies.self_training import SelfTraining as SelfTraining
    from mapl.students.strategies.voting import Voting as Voting
    from mapl.students.student import Student as Student
    from mapl.students.student import train_student as train_student

_HOMES = {
    "STRATEGIES": "mapl.students.strategies.names",
    "Cleaned": "mapl.students.strategies.cleaned",
    "Imputed": "mapl.students.strategies.imputed",
    "Plain": "mapl.students.strategies.plain",
    "SelfTraining": "mapl.students.strategies.self_training",
    "Strategy": "mapl.students.strategies.names",
    "Student": "mapl.students.student",
    "Voting": "mapl.students.strategies.voting",
    "check_storable": "mapl.students.file.student_file",
    "export": "mapl.students.exports.export",
    "load": "mapl.students.file.student_file",
    "model_card": "mapl.students.file.card",
    "save": "mapl.students.file.student_file",
    "train_student": "mapl.students.student",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return import_late(__name__, _HOMES, name)
