"""BTT18 section 4: how many private rows a private learner needs for the error it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import Algorithm2, Constants, count_contested, refuse_unproved
from mapl.bounds.btt18.assumptions import (
    CONSISTENT,
    MINIMISER,
    SHARED,
    STUDENT_CONSISTENT,
    STUDENT_MINIMISER,
    TAUGHT,
    with_probability,
)
from mapl.bounds.learners import (
    Learner,
    agnostic_excess,
    realizable_error,
    relative_deviation,
    rows_needed,
    uniform_deviation,
)
from mapl.bounds.parameters import check
from mapl.errors import CannotCalibrate


@dataclass(frozen=True, slots=True)
class Needs:
    """Public rows, and the algorithm and private rows that label them well enough."""

    m: int
    algorithm: Algorithm2
    rows_each: int

    @property
    def n(self) -> int:
        return self.algorithm.teachers * self.rows_each

    @property
    def wrong(self) -> float:
        """The share of released labels that may be wrong or missing."""
        return self.algorithm.cutoff / self.m

    def terms(self, error: float, printed_error: float) -> dict[str, float]:
        return {
            "public_rows": self.m,
            "error": error,
            "printed_error": printed_error,
            "cutoff": self.algorithm.cutoff,
            "teachers": self.algorithm.teachers,
            "rows_each": self.rows_each,
        }


@dataclass(frozen=True, slots=True)
class Goal:
    """What private learning is asked for."""

    vc: int
    alpha: float
    epsilon: float
    delta: float
    beta: float
    gamma: float
    constants: Constants

    def __post_init__(self) -> None:
        check(
            **{n: getattr(self, n) for n in ("vc", "alpha", "epsilon", "delta", "beta", "gamma", "constants")},
        )
        refuse_unproved(self.epsilon, self.delta, self.constants)

    def needs(self, m: int, learner: Learner, *, target: float | None = None, cutoff: int | None = None) -> Needs:
        """Return what labels m public rows, by teachers that reach the target (alpha) above gamma."""
        target = self.alpha if target is None else target
        cutoff = count_contested(m, self.gamma + target, self.beta / 2) if cutoff is None else cutoff
        if cutoff >= m:
            raise CannotCalibrate(
                f"gamma + alpha is {self.gamma + target:g} and at best every question would be contested; it would "
                "have to fall well below 1/3."
            )
        algorithm = Algorithm2.calibrated(
            cutoff, m, epsilon=self.epsilon, delta=self.delta, beta=self.beta, constants=self.constants
        )
        each = rows_needed(lambda rows: learner(rows, self.vc, self.beta / algorithm.teachers), target)
        return Needs(m, algorithm, each)


def realizable_rows(
    vc: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 4.2: private rows for a student of error at most 15 alpha, where some classifier never errs.

    Assumes consistent teachers and a student that minimises the error on m = O~(V/alpha^2) labelled public rows.
    At most T labels are wrong, so student and truth disagree on at most 2T of the m rows, and uniform convergence
    does the rest; it needs no independence of the labels. The error in the terms is what this gives; printed are
    15 alpha and n = O~(V^(3/2)/(epsilon alpha^(3/2))).
    """
    goal = Goal(vc, alpha, epsilon, delta, beta, 0.0, constants)
    m = rows_needed(lambda rows: agnostic_excess(rows, vc, beta), alpha)
    needs = goal.needs(m, realizable_error)
    error = min(1.0, 2 * needs.wrong + uniform_deviation(m, vc, beta))
    return rows_of(needs, error, 15 * alpha, (CONSISTENT, STUDENT_MINIMISER), f"BTT18 Theorem 4.2, {constants}")


def erm_rows(
    vc: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Remark 2: private rows if the student's few wrong labels are put to use, m = O~(V/alpha).

    Assumes what Theorem 4.2 does; relative deviations (Vapnik) replace uniform ones. m is the number of rows at
    which they add alpha to a student without disagreement. Printed: n = O~(V^(3/2)/(epsilon alpha)).
    """
    goal = Goal(vc, alpha, epsilon, delta, beta, 0.0, constants)
    needs, error = erm_needs(goal)
    return rows_of(needs, error, 15 * alpha, (CONSISTENT, STUDENT_MINIMISER), f"BTT18 Remark 2, {constants}")


def erm_needs(goal: Goal) -> tuple[Needs, float]:
    """Return what Remark 2 needs, and the student's error."""
    m = rows_needed(lambda rows: relative_deviation(0.0, rows, goal.vc, goal.beta), goal.alpha)
    needs = goal.needs(m, realizable_error)
    return needs, relative_deviation(2 * needs.wrong, m, goal.vc, goal.beta)


def consistent_rows(
    vc: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Remark 3: private rows if no label may be wrong, so that a consistent student is enough.

    Assumes consistent teachers and student, m = O~(V/alpha). Teachers are trained to beta/(6m): then no question is
    contested except with probability beta/2. The printed target 1/m leaves up to three contested questions to be
    expected; with the corrected one n = O~(V^2/(epsilon alpha beta)), the printed order times 1/beta.
    """
    goal = Goal(vc, alpha, epsilon, delta, beta, 0.0, constants)
    m = rows_needed(lambda rows: realizable_error(rows, vc, beta), alpha)
    needs = goal.needs(m, realizable_error, target=beta / (6 * m), cutoff=1)
    found = rows_of(needs, alpha, alpha, (CONSISTENT, STUDENT_CONSISTENT), f"BTT18 Remark 3, {constants}")
    terms = {**found.terms, "teacher_error": beta / (6 * m), "printed_teacher_error": 1 / m}
    return Bound(found.value, found.meaning, found.assumptions, terms, found.source)


def agnostic_rows(
    vc: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    gamma: float = 0.0,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 4.3: private rows for a student of error O(gamma + alpha).

    Assumes teachers and student that minimise their error, m = O~(V/alpha^2). At most T labels differ from the true
    ones, so the student's error is at most gamma + 2T/m + alpha, about 7 gamma + 7 alpha; the printed argument
    gives 7 gamma + 15 alpha. n = O~(V^(3/2) sqrt(gamma + alpha)/(epsilon alpha^3)); the printed
    V^(3/2)/(epsilon alpha^(5/2)) is the case gamma = O(alpha).
    """
    goal = Goal(vc, alpha, epsilon, delta, beta, gamma, constants)
    needs, error = agnostic_needs(goal)
    about = (MINIMISER, STUDENT_MINIMISER)
    return rows_of(needs, error, 7 * gamma + 15 * alpha, about, f"BTT18 Theorem 4.3, {constants}")


def agnostic_needs(goal: Goal) -> tuple[Needs, float]:
    """Return what Theorem 4.3 needs, and the student's error."""
    m = rows_needed(lambda rows: agnostic_excess(rows, goal.vc, goal.beta), goal.alpha)
    needs = goal.needs(m, agnostic_excess)
    return needs, min(1.0, goal.gamma + 2 * needs.wrong + goal.alpha)


def rows_of(needs: Needs, error: float, printed_error: float, learners: tuple[str, ...], source: str) -> Bound:
    """Describe a number of private rows."""
    return Bound(
        value=float(needs.n),
        meaning=f"private rows that are enough for a student of error at most {error:.4g}",
        assumptions=(*SHARED, TAUGHT, *learners, with_probability("3 beta")),
        terms=needs.terms(error, printed_error),
        source=f"{source} constants, corrected and made explicit",
    )
