"""The learner of a student, and how the default one is chosen.

Released labels are noisy: 60 to 80% of them are right. Choosing among regularised learners by cross-validation on
these very labels is free (post-processing) and asks for nothing private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import is_sparse
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.students.fitting import Learning, quietly
from mapl.students.lesson import Lesson
from mapl.teachers.learners.estimator import EstimatorLearner, fresh
from mapl.teachers.learners.learner import as_learner
from mapl.types import Floats, Labels

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder

AUTO = "auto"
NETWORK = "cnn"
STUDENTS_ONLY = {NETWORK: "a small convolutional network for images, students only; needs torch while it learns"}
FOLDS = 3
FEWEST_LABELS = 30
"""With fewer labels cross-validation says nothing, and the first candidate that suits is taken."""

ENOUGH_LABELS = 300
"""With fewer labels boosting has too little to learn from, and hits tell too little of who is better."""

MOST_LABELS = 10_000
"""More labels are not needed to compare candidates."""

LEAST_CHANCE = 1e-9
"""What a label has at least, so that one surprise is no infinite one."""

MOST_CELLS = 50_000_000
"""How large a matrix may become through bins, 200 MB."""


@dataclass(frozen=True, slots=True)
class StudentCandidate:
    """A regularised learner on encoded rows that may become the default student.

    Parameters
    ----------
    build
        Makes an unfitted estimator for a number of labels.
    bins
        Whether numbers are also cut into public bins, which lets linear models bend.
    most_work
        The largest product of encoded cells and outputs that it is tried on, to stay within seconds.
    sparse
        Whether it takes the sparse matrices that text is encoded as.
    """

    name: str
    build: Callable[[int], Any]
    bins: bool = False
    fewest_labels: int = 0
    most_work: float = float("inf")
    sparse: bool = True

    def suits(self, encoded: Any, n_classes: int) -> bool:
        sparse = is_sparse(encoded)
        n_outputs = 1 if n_classes == 2 else n_classes
        quick = (encoded.nnz if sparse else encoded.size) * n_outputs <= self.most_work
        return bool(quick and encoded.shape[0] >= self.fewest_labels and (self.sparse or not sparse))


def _boosting(n_labels: int) -> Any:
    """Few, small and slow steps with large leaves, so that no leaf is ruled by the noise of its labels."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=120 if n_labels < 4000 else 200,
        learning_rate=0.03,
        max_leaf_nodes=8,
        min_samples_leaf=min(max(n_labels // 30, 15), 100),
        l2_regularization=10.0,
        max_features=0.5,
        early_stopping=False,
    )


def _logistic(c: float) -> Callable[[int], Any]:
    def build(n_labels: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=c, max_iter=300, tol=1e-3)

    return build


def _ridge(n_labels: int) -> Any:
    from sklearn.linear_model import RidgeClassifierCV

    return RidgeClassifierCV(alphas=(1.0, 10.0, 100.0, 1_000.0, 10_000.0))


CANDIDATES = (
    StudentCandidate("boosting", _boosting, fewest_labels=ENOUGH_LABELS, most_work=3e7, sparse=False),
    StudentCandidate("logistic, C = 0.01", _logistic(0.01), bins=True),
    StudentCandidate("logistic, C = 0.1", _logistic(0.1), bins=True, most_work=3e7),
    StudentCandidate("logistic, C = 1", _logistic(1.0), bins=True, most_work=3e7),
    StudentCandidate("ridge", _ridge, bins=True, sparse=False),
)
"""What the default student is chosen from, the most trusted first.

On four tables (adult, a9a, credit, mushroom; 3 or 4 seeds each) with released labels that were 64 to 80% right,
boosting ended between 0.2 points behind and 1.5 points ahead of logistic regression on binned numbers; so another
candidate is taken only where it is clearly better. Its settings were searched on the same four tables.
"""

CANDIDATES_OF_FEW = tuple(
    StudentCandidate(f"logistic, C = {c:g}", _logistic(c), bins=True) for c in (0.1, 0.03, 0.3, 1)
)
"""What it is chosen from where labels are few: the one that finds held-out labels likeliest.

A strict model may say one class to nearly all rows, most of all where an active student asked about doubtful ones,
and so few hits seldom show it. With 40 to 200 labels, on parts of the train splits of the four tables, the order of
above fell to 23% at worst; this is better by 0.9 points on average, and by 13 in a made-up world of uneven labels.
"""


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
    from mapl.students.strategies.cross_checked import Mending

    kinds = [column.kind for column in schema.columns]
    if kinds != ["image"]:
        raise InvalidParameter(
            f"The student {NETWORK} sees one column of images and nothing else; the schema declares "
            f"{', '.join(sorted(set(kinds)))} in {len(kinds)} columns. Keep one column of images, or take another "
            "student, for example auto."
        )
    require_torch()
    public = encoder if isinstance(encoder, PublicEncoder) else PublicEncoder.fit_public(lesson.rows, schema)
    return Learning(NETWORK, ConvolutionStudent(), mending=Mending(public))


def _chosen(lesson: Lesson, schema: Schema, encoder: Encoder | None) -> Learning:
    """Take the first candidate unless a later one predicts held-out labels better by two standard errors.

    Of few labels, where two standard errors are wide, the one that finds them likeliest.
    """
    from sklearn.pipeline import Pipeline

    known = lesson.part(np.flatnonzero(lesson.answered))
    n_labels = len(known.codes)
    encoders = encoders_of(encoder, schema, n_labels)
    encoded = {bins: encoder.transform(known.rows) for bins, encoder in encoders.items()}
    few = n_labels < ENOUGH_LABELS
    candidates = CANDIDATES_OF_FEW if few else CANDIDATES
    suited = [one for one in candidates if one.suits(encoded[one.bins], len(lesson.classes))]
    best = suited[0]
    if n_labels >= FEWEST_LABELS and np.bincount(known.codes).max() >= FOLDS:
        some = np.random.default_rng(lesson.seed).permutation(n_labels)[:MOST_LABELS]
        codes, weights = known.codes[some], None if known.weights is None else known.weights[some]
        judge, better = (_log_chances, _more) if few else (_hits, clearly_more)
        best_marks = None
        for one in suited:
            model = one.build(len(some))
            marks = _held_out_marks(model, encoded[one.bins][some], codes, weights, lesson.seed, judge)
            if best_marks is None or better(marks, best_marks):
                best, best_marks = one, marks
    model = best.build(n_labels)
    return Learning(f"{AUTO}: {best.name}", Pipeline([("encode", encoders[best.bins]), ("model", model)]))


def encoders_of(encoder: Encoder | None, schema: Schema, n_labels: int) -> dict[bool, Encoder]:
    """Return the encoders with and without bins; a table of many numbers goes without."""
    from mapl.data.encoding.choice import with_bins

    width = sum(len(column.cuts) + 1 for column in schema.columns)
    return {
        bins: with_bins(encoder, schema, bins=bins and width * n_labels <= MOST_CELLS) for bins in (False, True)
    }


def clearly_more(hits: Floats, others: Floats) -> bool:
    """Say whether the first hits are more by two standard errors; both are of the same rows."""
    gain = hits - others
    return bool(gain.mean() > 2 * gain.std() / np.sqrt(len(gain)))


def _more(marks: Floats, others: Floats) -> bool:
    return bool(marks.mean() > others.mean())


def _hits(model: Any, rows: Any, codes: Labels) -> Floats:
    """Say of each label whether it is predicted.

    Boosting in small steps keeps its probabilities too near to one half to be judged by them, while its classes are
    good.
    """
    return np.asarray(model.predict(rows) == codes, dtype=np.float64)


def _log_chances(model: Any, rows: Any, codes: Labels) -> Floats:
    """Say of each label how likely it is found; one that the model has not met, hardly."""
    chances = np.full((len(codes), max(codes.max(), model.classes_.max()) + 1), LEAST_CHANCE)
    chances[:, model.classes_] = model.predict_proba(rows)
    return np.asarray(np.log(np.maximum(chances[np.arange(len(codes)), codes], LEAST_CHANCE)))


def _held_out_marks(
    estimator: Any,
    encoded: Any,
    codes: Labels,
    weights: NDArray[np.float64] | None,
    seed: int,
    judge: Callable[[Any, Any, Labels], Floats],
) -> Floats:
    """Judge for each label a model that was fitted on the other folds; one that has met one class has no merit."""
    from sklearn.model_selection import StratifiedKFold

    marks = np.zeros(len(codes))
    with quietly():  # a class with fewer labels than folds is no reason to speak up
        for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(encoded, codes):
            if (codes[seen] == codes[seen[0]]).all():
                marks[unseen] = codes[unseen] == codes[seen[0]]
                continue
            counted = {} if weights is None else {"sample_weight": weights[seen]}
            model = fresh(estimator, seed).fit(encoded[seen], codes[seen], **counted)
            marks[unseen] = judge(model, encoded[unseen], codes[unseen])
    return marks
