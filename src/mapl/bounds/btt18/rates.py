"""BTT18 section 3: misclassification rates from n, m and the VC dimension, with the circle solved."""

from __future__ import annotations

import math
from dataclasses import replace

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import CONTESTED, Constants, count_contested, refuse_unproved
from mapl.bounds.btt18.assumptions import (
    CONSISTENT,
    MINIMISER,
    SHARED,
    with_probability,
)
from mapl.bounds.btt18.circle import FARTHEST, Circle, Setting, round_up, smallest, solve
from mapl.bounds.learners import Learner, agnostic_excess, realizable_error
from mapl.bounds.parameters import MOST, check
from mapl.errors import CannotCalibrate


def realizable_rate(
    n: int,
    vc: int,
    epsilon: float,
    delta: float,
    m: int,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 3.4: the misclassification rate T/m where some classifier of the class never errs.

    Assumes consistent teachers on equal chunks. T is the least cutoff that closes the circle T -> k -> alpha -> T,
    with beta/2 for beta, so that the rate holds with probability 1 - beta. Printed: O~(V/(epsilon n)) up to M
    questions (true at m = M only: T/m cannot be below 1/m), O~(m V^2/(epsilon n)^2) beyond.
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, m=m, beta=beta, constants=constants)
    setting = Setting(n, vc, epsilon, delta, m, beta / 2, constants=constants)
    printed = max(vc / (epsilon * n), m * (vc / (epsilon * n)) ** 2)
    return rate_of(setting, solve(setting), printed, CONSISTENT, "BTT18 Theorem 3.4")


def agnostic_rate(
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
    """Theorem 3.5: the misclassification rate T/m where the best of the class errs at gamma.

    Assumes teachers that minimise the error on equal chunks. Solved like Theorem 3.4. Printed:
    O(gamma) + O~(sqrt(V/(epsilon n))) up to M questions, O(gamma) + O~(m^(1/3) (V/(epsilon n))^(2/3)) beyond.
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, m=m, beta=beta, gamma=gamma, constants=constants)
    setting = Setting(n, vc, epsilon, delta, m, beta / 2, gamma, agnostic_excess, constants)
    ratio = vc / (epsilon * n)
    printed = gamma + max(math.sqrt(ratio), m ** (1 / 3) * ratio ** (2 / 3))
    return rate_of(setting, solve(setting), printed, MINIMISER, "BTT18 Theorem 3.5")


def rate_of(setting: Setting, circle: Circle, printed_order: float, teachers: str, source: str) -> Bound:
    """Describe a circle that closed."""
    return Bound(
        value=circle.cutoff / setting.m,
        meaning=f"share of {setting.m} questions that Algorithm 2 answers wrongly or not at all, at most",
        assumptions=(*SHARED, teachers, with_probability("beta")),
        terms={
            "cutoff": circle.cutoff,
            "teachers": circle.algorithm.teachers,
            "rows_each": circle.rows_each,
            "alpha": circle.alpha,
            "gamma": setting.gamma,
            "distance": circle.algorithm.distance,
            "lambda": circle.algorithm.scale,
            "w": circle.algorithm.threshold,
            "steps": circle.steps,
            "printed_order_without_constants_and_logs": printed_order,
        },
        source=f"{source}, corrected distance, constants made explicit, {setting.constants} constants",
    )


def free_questions(
    n: int,
    vc: int,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 3.4's M: how many questions a constant cutoff serves, where some classifier never errs.

    Assumes what Theorem 3.4 does. M is the largest m with 3 alpha m <= 1, that is one contested question expected
    at most, for the teachers of the cutoff that this needs; the cutoff depends on beta only. Printed as
    Omega~(epsilon n/V).
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, beta=beta, constants=constants)
    setting = Setting(n, vc, epsilon, delta, 1, beta / 2, constants=constants)
    return free(setting, epsilon * n / vc, CONSISTENT, "BTT18 Theorem 3.4")


def free_questions_agnostic(
    n: int,
    vc: int,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    gamma: float = 0.0,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 3.5's M: how many questions a constant cutoff serves, where the best of the class errs at gamma.

    Assumes what Theorem 3.5 does; printed as Omega~(min(1/gamma, sqrt(epsilon n/V))).
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, beta=beta, gamma=gamma, constants=constants)
    setting = Setting(n, vc, epsilon, delta, 1, beta / 2, gamma, agnostic_excess, constants)
    order = min(1 / gamma if gamma else math.inf, math.sqrt(epsilon * n / vc))
    return free(setting, order, MINIMISER, "BTT18 Theorem 3.5")


def free(setting: Setting, printed_order: float, teachers: str, source: str) -> Bound:
    """Find the largest number of questions of which one at most is expected to be contested."""
    refuse_unproved(setting.epsilon, setting.delta, setting.constants)
    # The count of a mean of one, whatever the number of questions is.
    cutoff = count_contested(MOST, 1 / (CONTESTED * MOST), setting.beta / 2)

    def expected(m: int, n: int) -> float:
        tried = replace(setting, m=m, n=n)
        return CONTESTED * m * (setting.gamma + tried.excess(tried.algorithm(cutoff).teachers))

    if expected(1, setting.n) > 1:
        if CONTESTED * setting.gamma >= 1:
            raise CannotCalibrate(
                f"No question is free: gamma is {setting.gamma:g} and would have to fall below 1/{CONTESTED}."
            )
        n = smallest(lambda n: expected(1, int(n)) <= 1, setting.n, FARTHEST)
        raise CannotCalibrate(
            f"Not one question is free: n is {setting.n} and would have to grow to "
            + (f"about {round_up(n):g}." if n is not None else f"more than {FARTHEST:g}.")
        )
    low, high = 1, 2
    while expected(high, setting.n) <= 1:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if expected(middle, setting.n) <= 1 else (low, middle)
    algorithm = replace(setting, m=low).algorithm(cutoff)
    return Bound(
        value=float(low),
        meaning="questions that Algorithm 2 takes with a cutoff that does not grow with their number, at least",
        assumptions=(*SHARED, teachers, with_probability("beta")),
        terms={
            "cutoff": cutoff,
            "teachers": algorithm.teachers,
            "rate": min(1.0, cutoff / low),
            "printed_order_without_constants_and_logs": printed_order,
        },
        source=f"{source}, M made explicit, {setting.constants} constants",
    )


def composition_rate(n: int, vc: int, epsilon: float, delta: float, m: int, beta: float) -> Bound:
    """The rate that advanced composition gives for the same questions, where some classifier never errs.

    Assumes consistent teachers on equal chunks, and Algorithm 1 on every question at (epsilon_0, delta/(2m)) with
    epsilon_0 sqrt(2 m ln(2/delta)) + m epsilon_0 (e^epsilon_0 - 1) = epsilon. Printed order: sqrt(m) V/(epsilon n).
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, m=m, beta=beta)
    setting = Setting(n, vc, epsilon, delta, m, beta / 2)
    return compose_answers(setting, math.sqrt(m) * vc / (epsilon * n), CONSISTENT, realizable_error)


def composition_rate_agnostic(
    n: int, vc: int, epsilon: float, delta: float, m: int, beta: float, *, gamma: float = 0.0
) -> Bound:
    """The rate that advanced composition gives for the same questions, where the best of the class errs at gamma.

    Assumes teachers that minimise the error on equal chunks; otherwise like `composition_rate`. The order, which
    the paper does not print, is gamma + m^(1/4) sqrt(V/(epsilon n)).
    """
    check(n=n, vc=vc, epsilon=epsilon, delta=delta, m=m, beta=beta, gamma=gamma)
    setting = Setting(n, vc, epsilon, delta, m, beta / 2, gamma)
    return compose_answers(setting, gamma + m**0.25 * math.sqrt(vc / (epsilon * n)), MINIMISER, agnostic_excess)


def compose_answers(setting: Setting, order: float, teachers: str, learner: Learner) -> Bound:
    """Answer every question by itself; the failures are shared out as in Theorem 3.2."""
    s = replace(setting, learner=learner)
    each = epsilon_each(s.m, s.epsilon, s.delta)
    threshold = math.ceil(math.log(s.m / s.delta) / each)
    distance = threshold + math.ceil(math.log(s.m / s.beta) / each) + 1
    n_teachers = 2 * CONTESTED * (distance + 1)
    alpha = s.excess(n_teachers)
    wrong = count_contested(s.m, s.gamma + alpha, s.beta / 2)
    return Bound(
        value=wrong / s.m,
        meaning=f"share of {s.m} questions that Algorithm 1, composed, answers wrongly or not at all, at most",
        assumptions=(*SHARED, teachers, with_probability("beta")),
        terms={
            "epsilon_each": each,
            "delta_each": s.delta / (2 * s.m),
            "teachers": n_teachers,
            "rows_each": s.n // n_teachers,
            "alpha": alpha,
            "gamma": s.gamma,
            "distance": distance,
            "order_without_constants_and_logs": order,
        },
        source="BTT18 section 3, after Theorem 3.4, constants made explicit",
    )


def epsilon_each(m: int, epsilon: float, delta: float) -> float:
    """Return the epsilon of one of m answers that compose to epsilon at delta/2 (Dwork, Rothblum and Vadhan)."""
    low, high = 0.0, min(epsilon, 700.0)
    for _ in range(200):
        middle = (low + high) / 2
        total = middle * math.sqrt(2 * m * math.log(2 / delta)) + m * middle * math.expm1(middle)
        low, high = (middle, high) if total <= epsilon else (low, middle)
    return low
