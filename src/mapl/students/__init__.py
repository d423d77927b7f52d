"""Everything that learns from released labels and public rows only."""

from mapl.students.exports.export import export
from mapl.students.file.card import model_card
from mapl.students.file.student_file import check_storable, load, save
from mapl.students.strategies.cleaned import Cleaned
from mapl.students.strategies.imputed import Imputed
from mapl.students.strategies.names import STRATEGIES, Strategy
from mapl.students.strategies.plain import Plain
from mapl.students.strategies.self_training import SelfTraining
from mapl.students.strategies.voting import Voting
from mapl.students.student import Student, train_student

__all__ = [
    "STRATEGIES",
    "Cleaned",
    "Imputed",
    "Plain",
    "SelfTraining",
    "Strategy",
    "Student",
    "Voting",
    "check_storable",
    "export",
    "load",
    "model_card",
    "save",
    "train_student",
]
