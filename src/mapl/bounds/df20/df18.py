"""Dwork and Feldman, Privacy-preserving prediction (2018): one private prediction from a vote of teachers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from mapl.bounds.bound import Bound
from mapl.bounds.families import ClassifierKind, Family
from mapl.bounds.letters import check_letters
from mapl.types import Floats

PRIVACY = (
    "Each prediction alone has the pure epsilon, delta = 0, for this adjacency: one row is replaced, n is public; "
    "unit: one row. Predictions compose."
)
REALIZABLE = "Some classifier of the class never errs; rows are independent."
SHARES = np.linspace(0.05, 0.45, 81)


def vote_error(k: Floats, teacher_error: Floats, epsilon: float) -> Floats:
    """Return the expected error of a private vote of k teachers of a mean error a, at most.

    a/xi + e^(-epsilon k (1/2 - xi))/2, minimised over xi.

    A question on which more than a share xi of them errs is lost (Markov); on the others the threshold with Laplace
    noise, the best among all private votes, errs with chance e^(-epsilon k (1/2 - xi))/2 at most.
    """
    lost = teacher_error[..., None] / SHARES
    noise = np.exp(-epsilon * k[..., None] * (0.5 - SHARES)) / 2
    return np.asarray((lost + noise).min(axis=-1))


def realizable(
    n: int, epsilon: float, *, kind: ClassifierKind = ClassifierKind.any, vc: int | None = None
) -> Bound:
    """Theorem 4.1: the expected error of one private prediction where some classifier never errs.

    The number k of teachers is chosen best; each has floor(n/k) rows. The paper: n = O~(d/(alpha epsilon)).

    Examples
    --------
    >>> round(float(realizable(10_000, 1.0, kind="thresholds")), 3)
    0.019
    """
    check_letters(n=n, epsilon=epsilon)
    family = Family.of(kind, vc)
    k = np.unique(np.round(np.geomspace(1, n, 2000)))
    errors = vote_error(k, family.teacher_error(np.floor(n / k)), epsilon)
    best = int(errors.argmin())
    # A fair coin errs half of the time and is as private as can be.
    return Bound(
        value=min(0.5, float(errors[best])),
        meaning="expected error of one private prediction, at most",
        assumptions=(PRIVACY, REALIZABLE, _teachers(family)),
        terms={
            "teachers": float(k[best]),
            "rows_each": float(n // int(k[best])),
            "rate_without_constants_and_logs": family.vc / (n * epsilon),
        },
        source="DF18 Theorem 4.1, constants derived",
    )


def realizable_rows(
    alpha: float, epsilon: float, *, kind: ClassifierKind = ClassifierKind.any, vc: int | None = None
) -> Bound:
    """Theorem 4.1, the other way: rows for an expected error of alpha.

    With k = ceil((4/epsilon) ln(1/alpha)) teachers, xi = 1/4 and teachers of mean error alpha/8 the vote errs at
    alpha/2 + alpha/2 at most. Among the terms are the rows each for any consistent teachers, which are that good
    except with probability beta = alpha/8 (Blumer et al. 1989).
    """
    check_letters(alpha=alpha, epsilon=epsilon)
    family = Family.of(kind, vc)
    k = max(1, math.ceil(4 / epsilon * math.log(1 / alpha)))
    target = alpha / 8
    gaps = float(family.teacher_error(np.asarray(1e9))) * (1e9 + 1)
    each = max(1, math.ceil(gaps / target - 1 - 1e-9))
    blumer = max(4 / target * math.log2(2 / target), 8 * family.vc / target * math.log2(13 / target))
    return Bound(
        value=float(k * each),
        meaning=f"rows that suffice for an expected error of {alpha:g} of one private prediction",
        assumptions=(PRIVACY, REALIZABLE, _teachers(family)),
        terms={
            "teachers": k,
            "rows_each": each,
            "rows_each_of_any_consistent_teacher": math.ceil(blumer),
            "rate_without_constants_and_logs": family.vc / (alpha * epsilon),
        },
        source="DF18 Theorem 4.1, constants derived",
    )


def agnostic(epsilon: float, flip: float, *, teacher_error: float = 0.0) -> Bound:
    """The black box for any learner: one random teacher's vote, flipped with a small chance; how many teachers.

    Output 1 with chance (1 - 2f) c/k + f. One vote moves it by (1 - 2f)/k, which is pure epsilon if that is at most
    f (e^epsilon - 1). The error is the teachers' mean error plus f at most. Rate: d/(epsilon alpha^3).

    Examples
    --------
    >>> float(agnostic(1.0, 0.05))
    11.0
    """
    check_letters(epsilon=epsilon, flip=flip, teacher_error=teacher_error)
    # exp would overflow where one teacher is enough long before.
    needed = (1 - 2 * flip) / (flip * math.expm1(min(epsilon, 700.0)))
    return Bound(
        value=float(max(1, math.ceil(needed))),
        meaning="teachers whose flipped random vote is private, enough",
        assumptions=(PRIVACY,),
        terms={"flip": flip, "error": teacher_error + flip * (1 - 2 * teacher_error)},
        source="DF18, generic agnostic predictor, constants derived",
    )


def _teachers(family: Family) -> str:
    if family.kind is ClassifierKind.any:
        return "Every teacher is the one-inclusion predictor of its rows (expected error d/(rows + 1))."
    if family.kind is ClassifierKind.intervals:
        return "Every teacher is the smallest interval that holds its rows of label 1; no two rows are equal."
    return "Every teacher is a threshold that makes no error on its rows; no two rows are equal."


BOUNDS: Mapping[str, Callable[..., Bound]] = {
    "theorem-4.1": realizable,
    "theorem-4.1-rows": realizable_rows,
    "agnostic": agnostic,
}
"""Every bound by the name that ``mapl bounds df18`` prints; parameters are read off the signatures."""
