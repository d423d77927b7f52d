"""LZCW21 section 3.1: students of passively labelled rows under Tsybakov's noise condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from mapl.bounds.bound import Bound
from mapl.bounds.learners import realizable_error, relative_deviation
from mapl.bounds.letters import check_letters
from mapl.bounds.lzcw21.labels import (
    CHUNKS,
    CONTINUOUS,
    MINIMISER,
    NOISE_CONDITION,
    PRIVACY,
    PUBLIC,
    Disagreement,
    Labels,
    sparse_labels,
    with_probability,
)
from mapl.bounds.lzcw21.tsybakov import tsybakov_disagreement
from mapl.errors import CannotCalibrate

ASSUMPTIONS = (PRIVACY, CHUNKS, PUBLIC, MINIMISER, NOISE_CONDITION, CONTINUOUS)
ROOT = 2**0.25
FARTHEST = 10**18

Labeller = Callable[[int, int], Labels | None]
"""From private and public rows to labels, as far as that is possible."""


def under_noise(vc: int, tau: float, eta: float) -> Disagreement:
    """Return how teachers disagree with the best classifier under Tsybakov's condition."""
    return lambda rows, beta: tsybakov_disagreement(rows, vc, beta, tau=tau, eta=eta)


def without_noise(vc: int) -> Disagreement:
    """Return how teachers disagree with a classifier that never errs."""
    return lambda rows, beta: realizable_error(rows, vc, beta)


def student_excess(labels: Labels | None, vc: int, beta: float) -> float:
    """Return how often the student disagrees with the best classifier, which bounds its excess error.

    On the public rows the labels differ from h* on a share r at most, so does the student, who fits them best, from
    the labels; student and h* disagree on 2r. Relative deviations carry this over to fresh rows.
    """
    return 1.0 if labels is None else relative_deviation(2 * labels.wrong_share, labels.m, vc, beta)


def student_bound(labels: Labels | None, m: int, vc: int, beta: float, rate: float, source: str) -> Bound:
    """Describe the student of such labels, three quarters of beta being spent on them."""
    excess = student_excess(labels, vc, beta / 4)
    terms = {"rate_without_constants_and_logs": rate}
    if labels is not None:
        terms |= {
            "labelled_rows": labels.m,
            "wrong_labels": labels.wrong,
            "teachers": labels.teachers,
            "noise_scale": labels.scale,
            "teacher_disagreement": labels.disagreement,
        }
    vacuous = "" if excess < 1 else " (vacuous: more private or public rows are needed)"
    return Bound(
        value=excess,
        meaning=f"error of the student above the best classifier's, with {m} public rows, at most{vacuous}",
        assumptions=(*ASSUMPTIONS, with_probability("beta")),
        terms=terms,
        source=source,
    )


def theorem_5(
    n: int,
    m: int,
    *,
    vc: int,
    epsilon: float,
    delta: float,
    tau: float = 1.0,
    eta: float = 1.0,
    beta: float = 0.05,
) -> Bound:
    """Theorem 5: the student's excess error if Algorithm 2 labels all m public rows.

    Printed as O~(d/m + (m d^2/(n epsilon)^2)^(tau/(4 - 3 tau))); constants derived, docs/bounds.md section 6.

    Examples
    --------
    >>> round(theorem_5(10**10, 2_500, vc=1, epsilon=1.0, delta=1e-9).value, 2)
    0.07
    """
    check_letters(n=n, m=m, vc=vc, epsilon=epsilon, delta=delta, tau=tau, eta=eta, beta=beta)
    labels = sparse_labels(
        n, m, epsilon=epsilon, delta=delta, beta=3 * beta / 4, disagreement=under_noise(vc, tau, eta)
    )
    rate = vc / m + (m * (vc / (n * epsilon)) ** 2) ** (tau / (4 - 3 * tau))
    return student_bound(labels, m, vc, beta, rate, "LZCW21 Theorem 5, constants derived")


def best_labels(labeller: Labeller, n: int, m: int, vc: int, beta: float) -> Labels | None:
    """Return the labels of the number of public rows, up to m, that serves the student best.

    Numbers of rows are tried on one grid for all m, so that more public rows never give a worse student.
    """
    sizes = sorted({round(ROOT**step) for step in range(math.floor(math.log(m, ROOT) + 1e-9) + 1)})
    found = [labels for size in sizes if (labels := labeller(n, size)) is not None]
    return min(found, key=lambda labels: student_excess(labels, vc, beta), default=None)


def remark_6(alpha: float, vc: int, *, epsilon: float, delta: float, eta: float = 1.0, beta: float = 0.05) -> Bound:
    """Remark 6: private rows for excess error alpha under bounded noise (tau = 1), public rows chosen best.

    Printed as n = O~(d^(3/2)/(alpha epsilon)) with m = O~(d/alpha); the m found is among the terms.
    """
    check_letters(alpha=alpha, vc=vc, epsilon=epsilon, delta=delta, eta=eta, beta=beta)
    labeller = partial(_sparse, vc=vc, epsilon=epsilon, delta=delta, eta=eta, beta=beta)
    most = FARTHEST

    def labels_for(n: int) -> Labels | None:
        return best_labels(labeller, n, round(10**4 * vc / alpha), vc, beta / 4)

    if student_excess(labels_for(most), vc, beta / 4) > alpha:
        raise CannotCalibrate(
            f"alpha is {alpha:g}, and even {most:.0e} private rows do not reach it at these settings; "
            "raise alpha or epsilon."
        )
    low, high = 0.0, math.log(most)
    while high - low > 1e-3:
        middle = (low + high) / 2
        enough = student_excess(labels_for(math.ceil(math.exp(middle))), vc, beta / 4) <= alpha
        low, high = (low, middle) if enough else (middle, high)
    n = math.ceil(math.exp(high))
    labels = labels_for(n)
    assert labels is not None
    return Bound(
        value=float(n),
        meaning=f"private rows that suffice for an excess error of {alpha:g}, to a part in a thousand",
        assumptions=(*ASSUMPTIONS, "The noise is bounded: tau = 1.", with_probability("beta")),
        terms={
            "public_rows": labels.m,
            "teachers": labels.teachers,
            "wrong_labels": labels.wrong,
            "private_rate_without_constants_and_logs": vc**1.5 / (alpha * epsilon),
            "public_rate_without_constants_and_logs": vc / alpha,
        },
        source="LZCW21 Remark 6, constants derived",
    )


def _sparse(n: int, m: int, *, vc: int, epsilon: float, delta: float, eta: float, beta: float) -> Labels | None:
    teachers = under_noise(vc, 1.0, eta)
    return sparse_labels(n, m, epsilon=epsilon, delta=delta, beta=3 * beta / 4, disagreement=teachers)
