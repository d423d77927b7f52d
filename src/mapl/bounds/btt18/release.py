"""BTT18 sections 2 and 3: releasing one stable answer, the privacy of many, and how many are contested."""

from __future__ import annotations

import math
from fractions import Fraction

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import Algorithm2, Constants, count_contested, largest_proved, refuse_unproved
from mapl.bounds.btt18.assumptions import DISTANCE, INDEPENDENT, LAPLACE, PRIVACY, with_probability
from mapl.bounds.parameters import check


def one_answer_threshold(epsilon: float, delta: float) -> Bound:
    """Theorem 2.4: the threshold that makes Algorithm 1 private; ln(1/(2 delta))/epsilon, never below 0.

    Assumes Laplace noise of scale 1/epsilon on a distance that neighbours move by at most one and that is zero on
    both where the values differ: such a value then passes with probability e^(-epsilon threshold)/2 = delta. The
    printed ln(1/delta)/epsilon gives delta/2.

    Examples
    --------
    >>> round(float(one_answer_threshold(0.5, 1e-6)), 3)
    26.245
    """
    check(epsilon=epsilon, delta=delta)
    return Bound(
        value=max(0.0, math.log(1 / (2 * delta)) / epsilon),
        meaning="threshold, in votes, that the noisy distance of one question has to exceed",
        assumptions=(PRIVACY, DISTANCE, "The noise is Laplace of scale 1/epsilon on the line."),
        terms={"printed_threshold": math.log(1 / delta) / epsilon},
        source="BTT18 Theorem 2.4, constant sharpened",
    )


def one_answer_distance(epsilon: float, delta: float, beta: float) -> Bound:
    """Theorem 2.5: the distance from which on Algorithm 1 answers, except with probability beta.

    (ln(1/(2 delta)) + ln(1/(2 beta)))/epsilon for delta and beta up to 1/2, where each logarithm is cut at 0;
    printed without the twos. Assumes the threshold of Theorem 2.4.

    Examples
    --------
    >>> round(float(one_answer_distance(0.5, 1e-6, 0.05)), 3)
    30.85
    """
    check(beta=beta)
    threshold = one_answer_threshold(epsilon, delta)
    return Bound(
        value=threshold.value + max(0.0, math.log(1 / (2 * beta)) / epsilon),
        meaning="distance to instability, in votes, from which on one question is answered",
        assumptions=(*threshold.assumptions, "It holds with probability at least 1 - beta over the noise."),
        terms={
            "threshold": threshold.value,
            "printed_distance": (math.log(1 / delta) + math.log(1 / beta)) / epsilon,
        },
        source="BTT18 Theorem 2.5, constants sharpened",
    )


def privacy(
    epsilon: float,
    delta: float,
    m: int,
    cutoff: int,
    *,
    beta: float = 0.05,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 3.1: the epsilon at delta that Algorithm 2 spends when it is calibrated for epsilon.

    Assumes the distance to instability. Counted are T + 1 epochs (the loop runs while c <= T) of 2/lambda-DP each,
    by zCDP, at the part of delta that T + 1 bad passes leave: (2/3)(T + 1) e^(-w/(2 lambda)). The theorem holds as
    stated where the value is at most epsilon: always for derived constants, and for the printed ones at least up
    to epsilon = 2.343 ln(2/delta). Beside lambda and w stands k, the teachers that Algorithm 2 is set for, so that
    all questions that a third of them or fewer err on are answered right but with probability beta; the value does
    not depend on it.
    """
    check(epsilon=epsilon, delta=delta, m=m, cutoff=cutoff, beta=beta, constants=constants)
    algorithm = Algorithm2.calibrated(cutoff, m, epsilon=epsilon, delta=delta, beta=beta, constants=constants)
    spent = algorithm.epsilon(m, delta)
    return Bound(
        value=spent,
        meaning=f"epsilon at delta {delta:g} that Algorithm 2, set for epsilon {epsilon:g}, spends at most",
        assumptions=(PRIVACY, DISTANCE, LAPLACE),
        terms={
            "asked_epsilon": epsilon,
            "delta": delta,
            "epochs": algorithm.epochs(m),
            "lambda": algorithm.scale,
            "w": algorithm.threshold,
            "k": algorithm.teachers,
            "delta_of_bad_passes": algorithm.bad_pass(m),
            "printed_proved_up_to_epsilon": largest_proved(delta),
        },
        source=f"BTT18 Theorem 3.1, corrected distance, {constants} constants",
    )


def contested_questions(teachers: int, mistakes: int, m: int, xi: float = 1 / 3) -> Bound:
    """Lemma 3.3: on how many of m questions more than a share xi of the teachers can be wrong.

    Assumes that each of k teachers errs on at most B questions. A contested question has floor(xi k) + 1 mistakes
    or more and there are k B in all, so there are at most floor(k B/(floor(xi k) + 1)), which is attained. The
    printed form is "fewer than B/xi"; it is false for B = 0 only.

    Examples
    --------
    >>> float(contested_questions(9, 4, 100))
    9.0
    """
    check(teachers=teachers, mistakes=mistakes, m=m, xi=xi)
    # A third is no float; the fraction that was meant is the simplest one nearby.
    wrong = math.floor(Fraction(xi).limit_denominator(10**6) * teachers) + 1
    return Bound(
        value=float(min(m, teachers * min(mistakes, m) // wrong)),
        meaning=f"questions of {m} on which more than a share {xi:.4g} of the teachers can be wrong, at most",
        assumptions=(f"Each of the {teachers} teachers errs on at most {mistakes} of the questions.",),
        terms={"printed_bound": mistakes / xi, "mistakes_of_a_contested_question": wrong},
        source="BTT18 Lemma 3.3, exact",
    )


def misclassification(
    m: int,
    alpha: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    gamma: float = 0.0,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 3.2: the share of m questions that are answered wrongly or not at all, T/m.

    Assumes teachers that err at most gamma + alpha, each except with probability beta/k. Failures: beta for the
    teachers, beta/2 for the number of contested questions, beta/2 for the noise. The cutoff T is 3(gamma + alpha)m
    plus a Bernstein term with ln(2/beta); the printed one uses a Chernoff bound that is too small and is only
    reported, next to the paper's own road with a valid one (`cutoff_by_teacher`).
    """
    check(m=m, alpha=alpha, epsilon=epsilon, delta=delta, beta=beta, gamma=gamma, constants=constants)
    refuse_unproved(epsilon, delta, constants)
    rate = min(1.0, gamma + alpha)
    cutoff = count_contested(m, rate, beta / 2)
    algorithm = Algorithm2.calibrated(cutoff, m, epsilon=epsilon, delta=delta, beta=beta, constants=constants)
    mean, log = rate * m, math.log(2 * algorithm.teachers / beta)
    return Bound(
        value=cutoff / m,
        meaning=f"share of {m} questions that Algorithm 2 answers wrongly or not at all, at most",
        assumptions=(
            PRIVACY,
            DISTANCE,
            LAPLACE,
            INDEPENDENT,
            f"Every teacher errs at most gamma + alpha = {rate:g}, except with probability beta/k for k teachers.",
            with_probability("2 beta"),
        ),
        terms={
            "cutoff": cutoff,
            "teachers": algorithm.teachers,
            "distance": algorithm.distance,
            "lambda": algorithm.scale,
            "w": algorithm.threshold,
            "cutoff_by_teacher": 3 * (mean + log / 3 + math.sqrt(log * log / 9 + 2 * mean * log)),
            "printed_cutoff": printed_cutoff(m, rate, beta),
        },
        source=f"BTT18 Theorem 3.2, corrected distance and cutoff, {constants} constants",
    )


def printed_cutoff(m: int, rate: float, beta: float) -> float:
    """Return T as printed, 3 (qm + sqrt(qm ln(m/beta)/2)); its second term is too small for a proof."""
    return 3 * (rate * m + math.sqrt(rate * m * math.log(m / beta) / 2))
