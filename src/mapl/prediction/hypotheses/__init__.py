"""Classes of hypotheses whose labelings of a few points can be listed, scored and drawn exactly."""

from mapl.prediction.hypotheses.boxes.rectangles import Rectangles
from mapl.prediction.hypotheses.conjunctions import conjunctions
from mapl.prediction.hypotheses.decision_lists import decision_lists
from mapl.prediction.hypotheses.finite import Finite
from mapl.prediction.hypotheses.line.intervals import Intervals
from mapl.prediction.hypotheses.line.stumps import Stumps
from mapl.prediction.hypotheses.line.thresholds import Thresholds
from mapl.prediction.hypotheses.line.unions import Unions
from mapl.prediction.hypotheses.protocol import Errors, Hypothesis, HypothesisClass, Patterns, Selection
from mapl.prediction.hypotheses.space.halfspaces import Halfspaces

__all__ = [
    "Errors",
    "Finite",
    "Halfspaces",
    "Hypothesis",
    "HypothesisClass",
    "Intervals",
    "Patterns",
    "Rectangles",
    "Selection",
    "Stumps",
    "Thresholds",
    "Unions",
    "conjunctions",
    "decision_lists",
]
