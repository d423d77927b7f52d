"""Everything that learns from released labels and public rows only."""

from mapl.students.card import model_card
from mapl.students.cleaned import Cleaned
from mapl.students.imputed import Imputed
from mapl.students.plain import Plain
from mapl.students.self_training import SelfTraining
from mapl.students.strategies import STRATEGIES, Strategy
from mapl.students.student import Student, train_student
from mapl.students.student_file import check_storable, load, save
from mapl.students.voting import Voting

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
    "load",
    "model_card",
    "save",
    "train_student",
]
