"""How good a student will be on fresh rows, from what its teachers' labels are expected to be."""

from __future__ import annotations

from mapl.errors import InvalidParameter
from mapl.planning.votes.learning_curve import LearningCurve

LEAST_SIGNAL = 0.01
"""Labels that are right about as often as wrong teach nothing, and more of them hardly more."""


def student_accuracy(
    curve: LearningCurve, *, labels: float, label_accuracy: float, plurality_accuracy: float, n_classes: int = 2
) -> float:
    """Return the expected accuracy of a student on fresh rows, against labels as they occur.

    A student imitates the winner of the votes, so with many labels it comes as near to the truth as the winner.
    With few it lacks what the same learner lacks on as many rows: the curve above its floor. How many rows a
    released label is worth depends on noise. Rows of which a share f has another label than the best rule gives
    teach like (1 - 2f)^2 times as many clean ones, and the curve was measured with the noise of labels, its floor;
    released labels give the winner but for a share v that the mechanism changed. So m labels count as
    m ((1 - 2v) / (1 - 2f))^2 rows of the curve.

    Assumed: the student is the learner of the curve (a better one does better); questions are drawn like fresh
    rows; those that were not answered would have taught no more than others; and labels that were changed are as
    harmful as their effect on accuracy says. With a few dozen labels, or many classes and few answers, that is too
    hopeful by several points; `mapl.pipeline.rehearsal.student` plays the run through on public rows instead.

    Parameters
    ----------
    labels
        How many labels are expected to be released.
    label_accuracy
        How many of them are expected to be true, as a share.
    plurality_accuracy
        How often the winner of the votes is true on any question, `ExpectedVotes.plurality_accuracy`.

    Examples
    --------
    >>> curve = LearningCurve.parse("100:0.20,1000:0.16")
    >>> round(student_accuracy(curve, labels=1000, label_accuracy=0.85, plurality_accuracy=0.85), 3)
    0.837
    >>> round(student_accuracy(curve, labels=1000, label_accuracy=0.75, plurality_accuracy=0.85), 3)
    0.831
    """
    for name, share in (("label accuracy", label_accuracy), ("plurality accuracy", plurality_accuracy)):
        if not 0 <= share <= 1:
            raise InvalidParameter(f"The {name} is {share}; it is a share in [0, 1].")
    if not labels >= 0:
        raise InvalidParameter(f"The number of labels is {labels}; it cannot be negative.")
    guessing = 1 / n_classes
    if labels < 1:
        return guessing
    lost = max(plurality_accuracy - label_accuracy, 0.0)
    changed = min(lost / max(plurality_accuracy - (1 - plurality_accuracy) / (n_classes - 1), LEAST_SIGNAL), 1.0)
    signal = max(1 - changed * n_classes / (n_classes - 1), LEAST_SIGNAL)
    noise = max(1 - curve.floor * n_classes / (n_classes - 1), LEAST_SIGNAL)
    lacking = curve.error(labels * (signal / noise) ** 2) - curve.floor
    return max(plurality_accuracy - max(lacking, 0.0), guessing)
