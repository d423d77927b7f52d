"""BTT18 section 5: the private learner where only the labels are private."""

from __future__ import annotations

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import Constants
from mapl.bounds.btt18.assumptions import (
    CHUNKS,
    CONSISTENT,
    DISTANCE,
    HALVES,
    INDEPENDENT,
    LABEL_PRIVACY,
    LAPLACE,
    MINIMISER,
    STUDENT_MINIMISER,
    with_probability,
)
from mapl.bounds.btt18.samples import Goal, Needs, agnostic_needs, erm_needs
from mapl.bounds.learners import realizable_error, rows_needed


def label_private_realizable(
    vc: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Section 5: rows for label-private learning, where some classifier never errs: n + m of Remark 2.

    Assumes that only labels are private: the rows are split, and the labels of one part are thrown away. With m of
    Theorem 4.2, V/alpha^2 rows, the printed factor sqrt(V/alpha) over learning without privacy would fail for
    alpha < 1/V; with m of Remark 2 it is O~(sqrt(V)/epsilon).
    """
    goal = Goal(vc, alpha, epsilon, delta, beta, 0.0, constants)
    needs, error = erm_needs(goal)
    without = rows_needed(lambda rows: realizable_error(rows, vc, beta), error)
    about = (CONSISTENT, STUDENT_MINIMISER)
    return label_private(needs, error, 15 * alpha, without, about, f"BTT18 section 5, realizable, {constants}")


def label_private_agnostic(
    vc: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    gamma: float = 0.0,
    constants: Constants = Constants.derived,
) -> Bound:
    """Section 5: rows for label-private learning where the best of the class errs at gamma: n + m of Theorem 4.3.

    Assumes that only labels are private: the rows are split, and the labels of one part are thrown away. The error
    is compared with alpha above gamma without privacy, from as many rows as that takes.
    """
    goal = Goal(vc, alpha, epsilon, delta, beta, gamma, constants)
    needs, error = agnostic_needs(goal)
    about = (MINIMISER, STUDENT_MINIMISER)
    printed = 7 * gamma + 15 * alpha
    return label_private(needs, error, printed, needs.m, about, f"BTT18 section 5, agnostic, {constants}")


def label_private(
    needs: Needs, error: float, printed_error: float, without: int, learners: tuple[str, ...], source: str
) -> Bound:
    """Describe a number of rows of which one part keeps its labels."""
    return Bound(
        value=float(needs.n + needs.m),
        meaning=f"rows, labelled and unlabelled, that are enough for a student of error at most {error:.4g}",
        assumptions=(
            LABEL_PRIVACY,
            DISTANCE,
            LAPLACE,
            CHUNKS,
            INDEPENDENT,
            HALVES,
            *learners,
            with_probability("3 beta"),
        ),
        terms={
            **needs.terms(error, printed_error),
            "labelled_rows": needs.n,
            "rows_without_privacy": without,
            "times_as_many": (needs.n + needs.m) / without,
        },
        source=f"{source} constants, corrected and made explicit",
    )
