"""Bassily, Thakkar and Thakurta, Model-Agnostic Private Learning (2018): its theorems by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.label_private import label_private_agnostic, label_private_realizable
from mapl.bounds.btt18.rates import (
    agnostic_rate,
    composition_rate,
    composition_rate_agnostic,
    free_questions,
    free_questions_agnostic,
    realizable_rate,
)
from mapl.bounds.btt18.release import (
    contested_questions,
    misclassification,
    one_answer_distance,
    one_answer_threshold,
    privacy,
)
from mapl.bounds.btt18.samples import agnostic_rows, consistent_rows, erm_rows, realizable_rows
from mapl.bounds.btt18.student import label_error, student_error, student_error_agnostic

BOUNDS: Mapping[str, Callable[..., Bound]] = {
    "theorem-2.4": one_answer_threshold,
    "theorem-2.5": one_answer_distance,
    "theorem-3.1": privacy,
    "theorem-3.2": misclassification,
    "lemma-3.3": contested_questions,
    "theorem-3.4": realizable_rate,
    "theorem-3.4-free": free_questions,
    "theorem-3.5": agnostic_rate,
    "theorem-3.5-free": free_questions_agnostic,
    "composition": composition_rate,
    "composition-agnostic": composition_rate_agnostic,
    "claim-4.1": label_error,
    "theorem-4.2": realizable_rows,
    "theorem-4.2-error": student_error,
    "remark-2": erm_rows,
    "remark-3": consistent_rows,
    "theorem-4.3": agnostic_rows,
    "theorem-4.3-error": student_error_agnostic,
    "section-5": label_private_realizable,
    "section-5-agnostic": label_private_agnostic,
}
"""Every bound by the name that ``mapl bounds btt18`` prints; parameters are read off the signatures."""

__all__ = ["BOUNDS"]
