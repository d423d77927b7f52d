"""Made-up worlds whose truth is known: a clinic for demonstrations, and worlds of the papers for tests and docs."""

from mapl.data.synthetic.clinic import (
    CLASSES,
    LABEL,
    MOST_VISITS,
    REGIONS,
    SMOKING,
    UNIT,
    Clinic,
    best_accuracy,
)
from mapl.data.synthetic.few_rules import FewRules, voting_fails, voting_wins
from mapl.data.synthetic.halfspaces import Halfspaces
from mapl.data.synthetic.label_noise import LabelNoise
from mapl.data.synthetic.thresholds import Thresholds
from mapl.data.synthetic.world import World

__all__ = [
    "CLASSES",
    "LABEL",
    "MOST_VISITS",
    "REGIONS",
    "SMOKING",
    "UNIT",
    "Clinic",
    "FewRules",
    "Halfspaces",
    "LabelNoise",
    "Thresholds",
    "World",
    "best_accuracy",
    "voting_fails",
    "voting_wins",
]
