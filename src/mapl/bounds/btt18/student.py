"""BTT18 section 4 read forwards: how good labels and student are, from the rows that there are."""

from __future__ import annotations

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import Constants
from mapl.bounds.btt18.assumptions import (
    CONSISTENT,
    DISTANCE,
    INDEPENDENT,
    LAPLACE,
    MINIMISER,
    SHARED,
    STUDENT_MINIMISER,
    TAUGHT,
    with_probability,
)
from mapl.bounds.btt18.circle import Setting, solve
from mapl.bounds.learners import agnostic_excess, relative_deviation, uniform_deviation
from mapl.bounds.parameters import check


def label_error(alpha: float, *, gamma: float = 0.0) -> Bound:
    """Claim 4.1: the share of all possible questions that are contested, 3 (gamma + alpha).

    Assumes teachers that err at most gamma + alpha. Markov's inequality is enough: the printed 3 gamma + 7 alpha,
    and its condition on m, come from a detour over a sample. All uncontested ones of m questions are answered
    rightly except with probability beta/2 over the noise; that is what the paper means by err(h_priv), whose
    labels depend on each other through the sparse vector's state.
    """
    check(alpha=alpha, gamma=gamma)
    return Bound(
        value=min(1.0, 3 * (gamma + alpha)),
        meaning="probability that a fresh question is contested; all others are answered rightly, at most",
        assumptions=(
            DISTANCE,
            LAPLACE,
            INDEPENDENT,
            f"Every teacher errs at most gamma + alpha = {gamma + alpha:g}, except with probability beta/k.",
            with_probability("2 beta"),
        ),
        terms={"printed_bound": 3 * gamma + 7 * alpha},
        source="BTT18 Claim 4.1, corrected",
    )


def student_error(
    n: int,
    vc: int,
    epsilon: float,
    delta: float,
    m: int,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 4.2 and Remark 2 read forwards: the student's error from n private and m public rows.

    Assumes what they do. The circle gives T; student and truth disagree on at most 2T of m rows; the smaller of the
    uniform and the relative deviation is added, each with beta/2.
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, m=m, beta=beta, constants=constants)
    setting = Setting(n, vc, epsilon, delta, m, beta, constants=constants)
    circle = solve(setting)
    seen = 2 * circle.cutoff / m
    error = min(
        relative_deviation(seen, m, vc, beta / 2),
        seen + uniform_deviation(m, vc, beta / 2),
    )
    about = (CONSISTENT, STUDENT_MINIMISER)
    return error_of(setting, circle.cutoff, circle.algorithm.teachers, error, about, "BTT18 Theorem 4.2")


def student_error_agnostic(
    n: int,
    vc: int,
    epsilon: float,
    delta: float,
    m: int,
    beta: float,
    *,
    gamma: float = 0.0,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 4.3 read forwards: the student's error gamma + 2T/m + excess(m) from n private and m public rows.

    Assumes what it does; the circle gives T.
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, m=m, beta=beta, gamma=gamma, constants=constants)
    setting = Setting(n, vc, epsilon, delta, m, beta, gamma, agnostic_excess, constants)
    circle = solve(setting)
    error = gamma + 2 * circle.cutoff / m + agnostic_excess(m, vc, beta)
    about = (MINIMISER, STUDENT_MINIMISER)
    return error_of(setting, circle.cutoff, circle.algorithm.teachers, error, about, "BTT18 Theorem 4.3")


def error_of(
    setting: Setting, cutoff: int, teachers: int, error: float, learners: tuple[str, ...], source: str
) -> Bound:
    """Describe a student's error."""
    return Bound(
        value=min(1.0, error),
        meaning="error of the student, at most",
        assumptions=(*SHARED, TAUGHT, *learners, with_probability("3 beta")),
        terms={"cutoff": cutoff, "wrong_labels": cutoff / setting.m, "teachers": teachers, "gamma": setting.gamma},
        source=f"{source}, read forwards, {setting.constants} constants",
    )
