"""Everything that learns from released labels and public rows only.

Names are imported when they are first used (`mapl.late_names`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mapl.late_names import homes_of, import_late

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

_HOMES = homes_of(
    {
        "mapl.students.exports.export": "export",
        "mapl.students.file.card": "model_card",
        "mapl.students.file.student_file": "check_storable load save",
        "mapl.students.strategies.cleaned": "Cleaned",
        "mapl.students.strategies.imputed": "Imputed",
        "mapl.students.strategies.names": "STRATEGIES Strategy",
        "mapl.students.strategies.plain": "Plain",
        "mapl.students.strategies.self_training": "SelfTraining",
        "mapl.students.strategies.voting": "Voting",
        "mapl.students.student": "Student train_student",
    }
)

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return import_late(__name__, _HOMES, name)
