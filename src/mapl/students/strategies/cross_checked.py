"""Labels for a learner that would memorise wrong ones: what all other rows say about each row, and how clearly.

A network repeats the mistakes of its labels. So no row's label is taken from that row alone: spectral coordinates
clean the released labels (`cleaning`), a Gaussian kernel predicts each cleaned label from all others, and a row
whose two likeliest classes are close hardly counts. Of 5000 digits whose labels were 69% right, 98.6% were right
after this, and 99.8% of the clearest 95%.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs

from mapl.data.tables.rows import take
from mapl.students.images.kernel import DISTANCES_AT_ONCE, PENALTY, SHARPNESS, anchors_among, gaussian, typical_gap
from mapl.students.strategies.cleaning import clean_labels
from mapl.types import Floats, Singles

if TYPE_CHECKING:
    from mapl.data.encoding.public_encoder import PublicEncoder
    from mapl.students.lesson import Lesson


CLEAR = 0.5
"""A lead of this much over the second class makes a row count in full."""

LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class CrossCheck:
    """Relabels and weighs the rows of a lesson by the encoder of its run."""

    encoder: PublicEncoder

    def __call__(self, lesson: Lesson) -> Lesson:
        """Return a lesson of the same rows, each once, with better labels; every row must have a label."""
        encoded = np.asarray(self.encoder.transform(lesson.rows), np.float32)
        first, spoken = _each_once(encoded, lesson)
        encoded, codes = encoded[first], spoken.argmax(axis=1).astype(np.int32)
        weights = _lead(spoken)
        weights = np.maximum(weights / (weights.mean() or 1.0), LEAST_WEIGHT)
        n_spectral = self.encoder.n_spectral
        if n_spectral:
            codes = clean_labels(encoded[:, :n_spectral], codes, len(lesson.classes), weights=weights)
        scores = score_left_out(encoded[:, n_spectral:], np.eye(len(lesson.classes))[codes], weights)
        return replace(
            lesson,
            rows=take(lesson.rows, first),
            codes=scores.argmax(axis=1).astype(np.int32),
            weights=np.clip(_lead(scores) / CLEAR, LEAST_WEIGHT, 1),
        )


def score_left_out(points: Singles, targets: Floats, weights: Floats) -> Floats:
    """Return what kernel ridge regression on all other rows says about each row.

    One inverse tells it exactly for all of them. Of very many rows only some make the kernel; the others are not
    among these, so they are simply predicted.
    """
    points = np.ascontiguousarray(points, np.float32)
    chosen = anchors_among(len(points))
    anchors, base = points[chosen], targets[chosen].mean(axis=0)
    rate = SHARPNESS / typical_gap(anchors)
    kernel = gaussian(anchors, anchors, rate)
    kernel[np.diag_indices(len(kernel))] += np.asarray(PENALTY / weights[chosen], np.float32)
    factor, lower = cho_factor(kernel, lower=True, overwrite_a=True)
    dual = cho_solve((factor, lower), targets[chosen] - base)
    inverse, _ = get_lapack_funcs("potri", (factor,))(factor, lower=lower, overwrite_c=True)
    scores = np.empty_like(targets)
    scores[chosen] = targets[chosen] - dual / np.diag(inverse)[:, None]
    others = np.setdiff1d(np.arange(len(points)), chosen)
    step = max(1, DISTANCES_AT_ONCE // len(anchors))
    for start in range(0, len(others), step):
        block = others[start : start + step]
        scores[block] = gaussian(points[block], anchors, rate) @ dual + base
    return scores


def _each_once(encoded: Singles, lesson: Lesson) -> tuple[NDArray[np.int64], Floats]:
    """Return the first of all rows that are alike, and how much they speak for each class together.

    A row that comes twice, as in a bootstrap sample, would otherwise tell its own label.
    """
    whole = np.ascontiguousarray(encoded).view(np.dtype((np.void, encoded.shape[1] * encoded.itemsize))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    spoken = np.zeros((len(first), len(lesson.classes)))
    weights = np.ones(len(encoded)) if lesson.weights is None else lesson.weights
    np.add.at(spoken, (place, lesson.codes), weights)
    order = np.argsort(first)
    return first[order], spoken[order]


def _lead(scores: Floats) -> Floats:
    """Return by how much the first class leads the second."""
    if scores.shape[1] == 1:
        return np.ones(len(scores))
    ranked = np.sort(scores, axis=1)
    return np.asarray(ranked[:, -1] - ranked[:, -2])
