"""A student of soft labels: it learns probabilities from released ones, and predicts probabilities.

Its settings are chosen by how well it predicts released values that it did not learn from. These are noisy, but
their noise has mean zero, so that of two students the one with the smaller squared error on them is the better one,
up to chance. All of it is post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.reading.conform import conform
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, check_rows, is_matrix, n_rows, take
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.students.auto import AUTO, encoders_of
from mapl.students.fitting import quietly, weights_by_name
from mapl.students.student import Student
from mapl.teachers.learners.spelling import natural
from mapl.types import Floats

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder


STRATEGY = "soft"
LOGISTIC = "logistic"
PENALTIES = (3_000.0, 1_000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
FOLDS = 3
FEWEST_VALUES = 40
"""With fewer values cross-validation says nothing, and a middling penalty is taken."""
ROUGHNESS = 0.1
"""What a linear student misses anyway: no value counts as more certain than this, in standard deviations."""


def train_soft_student(
    questions: Rows,
    values: NDArray[Any],
    *,
    classes: Classes,
    spreads: NDArray[Any] | None = None,
    learner: Any = None,
    schema: Schema | None = None,
    encoder: Encoder | None = None,
    seed: int = 0,
) -> Student:
    """Train a student on public rows and the probabilities released for them.

    Parameters
    ----------
    values
        Released probabilities of the second of two classes, or of more classes a row of them, as they are: noise
        may take them below 0 or above 1. nan where
        nothing was released.
    spreads
        Standard deviations of what noise and rounding add to each; rows with less of it count more.
    learner
        None or "auto" for logistic regression with a penalty found by cross-validation, "logistic" for the same; or
        an unfitted regressor, which sees encoded rows.

    Notes
    -----
    Guarantee: none of its own and none needed; this is post-processing of released values.
    """
    rows = check_rows(questions, "public rows")
    schema = draft_schema(rows, classes=classes.names) if schema is None else schema
    rows = conform(rows, schema, "public rows", public=True)
    targets = np.asarray(values, dtype=np.float64)
    if targets.shape != ((n_rows(rows),) if len(classes) == 2 else (n_rows(rows), len(classes))):
        raise InvalidData(
            f"There are {len(classes)} classes and values of shape {targets.shape}; a soft student has one value "
            f"for each of the {n_rows(rows)} public rows, or one for each of more than two classes, nan where "
            "there is none."
        )
    known = np.flatnonzero(np.isfinite(targets if targets.ndim == 1 else targets[:, 0]))
    if targets.ndim == 2:  # as they are released; what they add up to would push all scores one way, for nothing
        targets = targets + (1 - targets.sum(axis=1, keepdims=True)) / len(classes)
    if not len(known):
        raise InvalidData(
            "None of the public rows got a soft label, so there is nothing to learn from. Ask with a larger "
            "epsilon, fewer questions, or for noisy means."
        )
    if encoder is None:
        from mapl.data.encoding.choice import encoder_for

        encoder = encoder_for(schema, rows)
    weights = _weights(None if spreads is None else np.asarray(spreads, dtype=np.float64)[known], len(known))
    model, name = _fitted(take(rows, known), targets[known], weights, learner, classes, schema, encoder, seed)
    return Student(
        model=model,
        classes=classes,
        schema=schema,
        learner=name,
        strategy=STRATEGY,
        n_labels=len(known),
        on_matrix=is_matrix(rows),
    )


def refuse_unfit(learner: Any, n_classes: int = 2) -> None:
    """Refuse, before anything is spent, what cannot learn from probabilities."""
    if learner is None or (isinstance(learner, str) and learner in (AUTO, LOGISTIC)):
        return
    if n_classes > 2:
        raise InvalidParameter(
            f"Students of soft labels of {n_classes} classes are {AUTO} or {LOGISTIC}; regressors learn one number."
        )
    from sklearn.base import is_regressor

    if isinstance(learner, (str, type)) or not hasattr(learner, "__sklearn_tags__") or not is_regressor(learner):
        named = learner if isinstance(learner, str) else type(learner).__name__
        raise InvalidParameter(
            f"The student {named} does not learn from probabilities; take {AUTO}, {LOGISTIC}, or an unfitted "
            "regressor of scikit-learn."
        )


def _fitted(
    rows: Rows,
    targets: Floats,
    weights: Floats,
    learner: Any,
    classes: Classes,
    schema: Schema,
    encoder: Encoder,
    seed: int,
) -> tuple[Any, str]:
    from sklearn.pipeline import Pipeline

    from mapl.students.soft.logistic import SoftLogistic
    from mapl.students.soft.multinomial import SoftMultinomial
    from mapl.students.soft.regressor import SoftRegressor

    refuse_unfit(learner, len(classes))
    encoders = encoders_of(encoder, schema, len(targets))
    names = tuple(natural(classes).tolist())
    model: Any
    if targets.ndim == 2:
        bins, penalty, slope = _chosen_multinomial(rows, targets, weights, encoders, seed)
        model = SoftMultinomial(names, penalty=penalty, slope=slope)
        name, encoder = f"{LOGISTIC}, penalty {penalty:g}", encoders[bins]
    elif learner is None or isinstance(learner, str):
        bins, penalty, slope, offset = _chosen(rows, targets, weights, encoders, seed)
        model = SoftLogistic(names, penalty=penalty, slope=slope, offset=offset)
        name, encoder = f"{LOGISTIC}, penalty {penalty:g}", encoders[bins]
    else:
        model, name = SoftRegressor(learner, names), type(learner).__name__
    whole = Pipeline([("encode", encoder), ("model", model)])
    try:
        with quietly(), weights_by_name():
            return whole.fit(rows, targets, model__sample_weight=weights), name
    except (ValueError, TypeError) as failure:
        raise InvalidParameter(
            f"The student {name} cannot be fitted on the released probabilities: {type(failure).__name__}: "
            f"{failure}. Choose another learner; what was released can be used again for free."
        ) from failure


def _chosen(
    rows: Rows, targets: Floats, weights: Floats, encoders: dict[bool, Any], seed: int
) -> tuple[bool, float, float, float]:
    """Return whether to cut numbers into bins, the penalty, and slope and offset by held-out values."""
    from mapl.students.soft.logistic import calibrate_log_odds, design, solution

    if len(targets) < FEWEST_VALUES:
        return False, PENALTIES[3], 1.0, 0.0
    from scipy.special import expit

    fold = np.random.default_rng(seed).permutation(len(targets)) % FOLDS
    best: tuple[float, bool, float, Floats] | None = None
    for bins, encoder in encoders.items():
        encoded = design(encoder.transform(rows))
        log_odds = np.zeros((len(PENALTIES), len(targets)))
        for part in range(FOLDS):
            seen, unseen = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            found = np.zeros(encoded.shape[1] + 1)
            for i, penalty in enumerate(PENALTIES):  # the strongest first: each begins where the one before ended
                found = solution(encoded[seen], targets[seen], weights[seen], penalty, found)
                log_odds[i, unseen] = encoded[unseen] @ found[:-1] + found[-1]
        errors = ((expit(log_odds) - targets) ** 2) @ weights
        i = int(errors.argmin())
        if best is None or errors[i] < best[0]:
            best = float(errors[i]), bins, PENALTIES[i], log_odds[i]
    assert best is not None
    slope, offset = calibrate_log_odds(best[3], targets, weights)
    return best[1], best[2], slope, offset


def _chosen_multinomial(
    rows: Rows, targets: Floats, weights: Floats, encoders: dict[bool, Any], seed: int
) -> tuple[bool, float, float]:
    """Return whether to cut numbers into bins, the penalty, and the slope by held-out rows of probabilities."""
    from scipy.special import softmax

    from mapl.students.soft.logistic import design
    from mapl.students.soft.multinomial import calibrate_slope, multinomial_solution

    if len(targets) < FEWEST_VALUES:
        return False, PENALTIES[3], 1.0
    fold = np.random.default_rng(seed).permutation(len(targets)) % FOLDS
    best: tuple[float, bool, float, Floats] | None = None
    for bins, encoder in encoders.items():
        encoded = design(encoder.transform(rows))
        scores = np.zeros((len(PENALTIES), *targets.shape))
        for part in range(FOLDS):
            seen, unseen = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            found: Floats | None = None
            for i, penalty in enumerate(PENALTIES):
                found = multinomial_solution(encoded[seen], targets[seen], weights[seen], penalty, found)
                scores[i, unseen] = encoded[unseen] @ found[:-1] + found[-1]
        errors = ((softmax(scores, axis=2) - targets) ** 2).sum(axis=2) @ weights
        i = int(errors.argmin())
        if best is None or errors[i] < best[0]:
            best = float(errors[i]), bins, PENALTIES[i], scores[i]
    assert best is not None
    return best[1], best[2], calibrate_slope(best[3], targets, weights)


def _weights(spreads: Floats | None, n: int) -> Floats:
    """Return weights of mean 1, the larger the less noise a value has."""
    if spreads is None:
        return np.ones(n)
    precise = 1 / (spreads**2 + ROUGHNESS**2)
    return np.asarray(precise / precise.mean())
