"""What a model says about each class: the logarithms of its probabilities, its scores, or what it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.data.tables.rows import Rows
from mapl.errors import InvalidData
from mapl.students.fitting import hand_over, predict_codes
from mapl.teachers.learners.spelling import codes_of
from mapl.types import Floats

LEAST = 1e-6
"""The smallest probability that has a score; a class that a model never met has it."""

SURE = 0.9
"""What a class that is predicted without a word about how sure that is counts for."""


def raw_chances(model: Any, rows: Rows, classes: Classes) -> Floats:
    """Return a probability for each row and declared class, whatever the model tells.

    That is its own probability, zero for a class that it never met; where it has scores only, their softmax, as if
    they were logarithms; and where it has neither, 0.9 for the class that it predicts, shared by the others else.
    """
    if hasattr(model, "predict_proba"):
        known = np.asarray(model.predict_proba(hand_over(model, rows)), dtype=np.float64)
        shares = np.zeros((len(known), len(classes)))
        shares[:, codes_of(model.classes_, classes, known.shape[1])] = known
        return shares
    if hasattr(model, "decision_function"):
        from scipy.special import softmax

        told = np.asarray(model.decision_function(hand_over(model, rows)), dtype=np.float64)
        told = np.stack([-told, told], axis=1) if told.ndim == 1 else told  # of two, by how much the second leads
        if told.shape[1] == len(model.classes_):  # and not of pairs of classes
            shares = np.zeros((len(told), len(classes)))
            shares[:, codes_of(model.classes_, classes, told.shape[1])] = softmax(told, axis=1)
            return shares
    return _as_predicted(model, rows, classes)


def class_scores(model: Any, rows: Rows, classes: Classes) -> Floats:
    """Return a score for each row and declared class: the logarithm of what the model tells."""
    scores = np.log(np.maximum(raw_chances(model, rows, classes), LEAST))
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def certain_codes(model: Any, rows: Rows, classes: Classes) -> NDArray[np.int64]:
    """Return the number of the class that a model predicts for each row."""
    codes = predict_codes(model, rows, classes)
    if (codes == UNKNOWN).any():
        raise InvalidData(
            f"The student's model answered with something else than its {len(classes)} classes; it must "
            "predict the labels that it was trained on."
        )
    return codes


def _as_predicted(model: Any, rows: Rows, classes: Classes) -> Floats:
    codes = certain_codes(model, rows, classes)
    shares = np.full((len(codes), len(classes)), (1 - SURE) / (len(classes) - 1))
    shares[np.arange(len(codes)), codes] = SURE
    return shares
