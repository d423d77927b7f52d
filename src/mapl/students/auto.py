"""The learner of a student: the one that was named, or the winner of a contest on released labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.students.contest import contest_of
from mapl.students.fitting import Learning
from mapl.students.lesson import Lesson
from mapl.teachers.learners.estimator import EstimatorLearner
from mapl.teachers.learners.learner import as_learner

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder

AUTO = "auto"
NETWORK = "cnn"
STUDENTS_ONLY = {NETWORK: "a small convolutional network for images, students only; needs torch while it learns"}
MOST_CELLS = 50_000_000
"""How large a matrix may become through bins, 200 MB."""


def learner_of_student(given: Any, lesson: Lesson, schema: Schema, encoder: Encoder | None = None) -> Learning:
    """Return the learner of a student: a preset's name, an estimator, or the best candidate for these labels."""
    if isinstance(given, str) and given == NETWORK:
        return _network(lesson, schema, encoder)
    if (given is None or isinstance(given, str)) and encoder is None:
        from mapl.data.encoding.choice import encoder_for

        encoder = encoder_for(schema, lesson.rows)
    if given is None or (isinstance(given, str) and given == AUTO):
        return _on_images(encoder, schema) or _chosen(lesson, schema, encoder)
    learner = as_learner(given, lesson.classes, schema, encoder)
    if not isinstance(learner, EstimatorLearner):
        raise InvalidParameter(
            f"The student's learner {learner.name} is a function or a command; a student is published as a file, "
            "so it must be a preset or an estimator with fit and predict."
        )
    return Learning(learner.name, learner.estimator, learner.codes_only)


def _on_images(encoder: Encoder | None, schema: Schema) -> Learning | None:
    """Return what suits images and rows of categories, None elsewhere, or where there is text beside an image.

    It is compared with nothing: it learns from cleaned labels, of which the released ones are a poor judge.
    """
    from sklearn.pipeline import Pipeline

    from mapl.data.encoding.public_encoder import PublicEncoder
    from mapl.students.images.kernel import KernelStudent

    if not isinstance(encoder, PublicEncoder) or any(column.kind == "text" for column in schema.columns):
        return None
    model = KernelStudent(n_spectral=encoder.n_spectral)
    return Learning(f"{AUTO}: kernel on cleaned labels", Pipeline([("encode", encoder), ("model", model)]))


def _network(lesson: Lesson, schema: Schema, encoder: Encoder | None) -> Learning:
    """Return the network for images, which learns from mended labels, or refuse it before anything is spent."""
    from mapl.data.encoding.public_encoder import PublicEncoder
    from mapl.students.images.convolution import ConvolutionStudent
    from mapl.students.images.network_training import require_torch
    from mapl.students.strategies.cross_checked import CrossCheck

    kinds = [column.kind for column in schema.columns]
    if kinds != ["image"]:
        raise InvalidParameter(
            f"The student {NETWORK} sees one column of images and nothing else; the schema declares "
            f"{', '.join(sorted(set(kinds)))} in {len(kinds)} columns. Keep one column of images, or take another "
            "student, for example auto."
        )
    require_torch()
    public = encoder if isinstance(encoder, PublicEncoder) else PublicEncoder.fit_public(lesson.rows, schema)
    return Learning(NETWORK, ConvolutionStudent(), cross_check=CrossCheck(public))


def _chosen(lesson: Lesson, schema: Schema, encoder: Encoder | None) -> Learning:
    """Hold a contest on the labels that were released."""
    from sklearn.pipeline import Pipeline

    known = lesson.part(np.flatnonzero(lesson.answered))
    n_labels = len(known.codes)
    encoders = encoders_of(encoder, schema, n_labels)
    encoded = {bins: encoder.transform(known.rows) for bins, encoder in encoders.items()}
    contest = contest_of(n_labels)
    best = contest.winner(encoded, known.codes, known.weights, len(lesson.classes), lesson.seed)
    model = best.build(n_labels)
    return Learning(f"{AUTO}: {best.name}", Pipeline([("encode", encoders[best.bins]), ("model", model)]))


def encoders_of(encoder: Encoder | None, schema: Schema, n_labels: int) -> dict[bool, Encoder]:
    """Return the encoders with and without bins; a table of many numbers goes without."""
    from mapl.data.encoding.choice import with_bins

    width = sum(len(column.cuts) + 1 for column in schema.columns)
    return {
        bins: with_bins(encoder, schema, bins=bins and width * n_labels <= MOST_CELLS) for bins in (False, True)
    }
