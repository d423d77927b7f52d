"""LZCW21 section 3.2: students of a crowd that agrees on something, right or wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mapl.bounds.bound import Bound
from mapl.bounds.learners import log_growth, relative_deviation
from mapl.bounds.letters import check_letters
from mapl.bounds.lzcw21.labels import (
    CHUNKS,
    CONTINUOUS,
    MINIMISER,
    NOISE_CONDITION,
    PRIVACY,
    PUBLIC,
    with_probability,
)
from mapl.bounds.lzcw21.tsybakov import tsybakov_disagreement
from mapl.mechanisms.papers.sparse_vector import scale_by_concentration

HIGH_MARGIN = (
    "A teacher's expected vote is within Delta of 1/2 for a share nu of questions at most (Definition 10, the "
    "inequality turned round), for teachers on n/K rows."
)
ASSUMPTIONS = (PRIVACY, CHUNKS, PUBLIC, HIGH_MARGIN, CONTINUOUS)
HIGH_LEAD = (
    "A teacher's likeliest vote leads the next likeliest by 2 Delta or less for a share nu of questions at most "
    "(Definition 10 for more than two classes), for teachers on n/K rows."
)
OF_LEADS = tuple(HIGH_LEAD if one is HIGH_MARGIN else one for one in ASSUMPTIONS)
AGREED_MARGIN = 1 / 6


@dataclass(frozen=True, slots=True)
class VotingCrowd:
    """Cutoff and teachers with which all but T - 1 of m rows get the infinite ensemble's label.

    Parameters
    ----------
    for_votes
        Teachers that the votes' own spread asks for: 2 ln(3m(C - 1)/beta)/Delta^2 with C classes.
    for_noise
        Teachers that the noise asks for: (6 lambda (ln(4m/delta) + ln(3m/beta)) + 2)/Delta.
    for_noise_as_printed
        The paper's 3 lambda (...)/Delta, half as many: it takes the margin to be K Delta where the first condition
        only leaves K Delta/2.
    """

    cutoff: int
    scale: float
    for_votes: float
    for_noise: float
    for_noise_as_printed: float

    @property
    def teachers(self) -> int:
        return math.ceil(max(self.for_votes, self.for_noise))

    @property
    def teachers_as_printed(self) -> int:
        return math.ceil(max(self.for_votes, self.for_noise_as_printed))

    @property
    def terms(self) -> dict[str, float]:
        return {
            "cutoff": self.cutoff,
            "teachers": self.teachers,
            "teachers_as_printed": self.teachers_as_printed,
            "lambda": self.scale,
        }


def crowd(
    m: int, nu: float, margin: float, *, epsilon: float, delta: float, beta: float, classes: int = 2
) -> VotingCrowd:
    """Return Proposition 11's cutoff and teachers, each of its three events failing with probability beta/3.

    Rows of small margin number at most nu m + sqrt(2 nu m L) + 2L/3, L = ln(3/beta) (Bernstein); T is one more, as
    Algorithm 2 halts at T abstentions. On the others the mean vote keeps half of its margin (Hoeffding), so the
    distance is K Delta/2 - 1 or more, which has to exceed w = 3 lambda ln(2(m + T)/delta) <= 3 lambda ln(4m/delta)
    and all noise, 3 lambda ln(3m/beta). Of more than two classes the margin is half of the winner's expected lead,
    and Hoeffding's bound is for each of the others: docs/bounds.md section 6.4.
    """
    log = math.log(3 / beta)
    cutoff = min(m, math.floor(nu * m + math.sqrt(2 * nu * m * log) + 2 * log / 3) + 1)
    scale = scale_by_concentration(cutoff, epsilon, delta)
    noise = scale * (math.log(4 * m / delta) + math.log(3 * m / beta))
    votes = 2 * math.log(3 * m * (classes - 1) / beta) / margin**2
    return VotingCrowd(cutoff, scale, votes, (6 * noise + 2) / margin, 3 * noise / margin)


def proposition_11(
    m: int, nu: float, *, margin: float, epsilon: float, delta: float, beta: float = 0.05, classes: int = 2
) -> Bound:
    """Proposition 11: the teachers that let Algorithm 2 label all but T of m rows as the infinite ensemble does.

    Corrected: the printed second condition on K is short by a factor of two, see docs/bounds.md section 6. The
    paper has two classes; more than two are our extension.

    Examples
    --------
    >>> found = proposition_11(1000, 0.01, margin=0.25, epsilon=1.0, delta=1e-6)
    >>> found.value > 1.99 * found.terms["teachers_as_printed"]
    True
    """
    check_letters(m=m, nu=nu, margin=margin, epsilon=epsilon, delta=delta, beta=beta, classes=classes)
    found = crowd(m, nu, margin, epsilon=epsilon, delta=delta, beta=beta, classes=classes)
    more, terms = classes > 2, found.terms
    if more:
        del terms["teachers_as_printed"]  # the paper prints nothing about them
    return Bound(
        value=float(found.teachers),
        meaning=f"teachers for which all but {found.cutoff} of {m} rows get the infinite ensemble's label, enough",
        assumptions=(*(OF_LEADS if more else ASSUMPTIONS), with_probability("beta")),
        terms=terms,
        source="LZCW21 Proposition 11, corrected by a factor of two" + (", more classes by us" if more else ""),
    )


def theorem_12(
    m: int,
    nu: float,
    *,
    margin: float,
    vc: int,
    epsilon: float,
    delta: float,
    best_disagreement: float = 0.0,
    beta: float = 0.05,
) -> Bound:
    """Theorem 12: the student's error above the infinite ensemble's, the student being of the teachers' class.

    Printed as min Dis(h, h_inf) + 2T/m + O~(sqrt(d/m)). The nearest classifier's disagreement is met on the public
    rows up to Bernstein's terms, the student's is at most 2T/m more there, and relative deviations carry that over
    to fresh rows: never more than the printed order, and less where there is little disagreement.
    """
    check_letters(m=m, nu=nu, margin=margin, vc=vc, epsilon=epsilon, delta=delta, beta=beta)
    check_letters(best_disagreement=best_disagreement)
    found = crowd(m, nu, margin, epsilon=epsilon, delta=delta, beta=beta)
    log = math.log(2 / beta)
    nearest = best_disagreement + math.sqrt(2 * best_disagreement * log / m) + 2 * log / (3 * m)
    observed = min(1.0, (nearest if best_disagreement else 0.0) + 2 * found.cutoff / m)
    return Bound(
        value=relative_deviation(observed, m, vc, beta / 2),
        meaning="error of the student above that of the infinite ensemble, at most",
        assumptions=(*ASSUMPTIONS, MINIMISER, with_probability("2 beta")),
        terms={**found.terms, "disagreement_on_public_rows": observed},
        source="LZCW21 Theorem 12, constants derived",
    )


def theorem_13(
    m: int, nu: float, *, margin: float, vc: int, epsilon: float, delta: float, beta: float = 0.05
) -> Bound:
    """Theorem 13: the same for a student that is itself a vote of K classifiers of the class.

    Printed as 4T/m + 5(K d + ln(4/beta))/m. Derived: 2r + 2 sqrt(2 r c) + 4c <= 4r + 5c with r = T/m and
    c = (K ln G(2m) + ln(4/beta))/m, as votes of K classifiers label 2m rows in at most G(2m)^K ways. The printed
    form drops the logarithm, and VC(Vote_K) <= K d is false: votes of three half-planes have 10 (docs/bounds.md
    section 6.4), and the order K d log K is attained (Eisenstat and Angluin 2007).
    """
    check_letters(m=m, nu=nu, margin=margin, vc=vc, epsilon=epsilon, delta=delta, beta=beta)
    found = crowd(m, nu, margin, epsilon=epsilon, delta=delta, beta=beta)
    share = found.cutoff / m
    c = (found.teachers * log_growth(2 * m, vc) + math.log(4 / beta)) / m
    return Bound(
        value=min(1.0, (math.sqrt(c) + math.sqrt(c + 2 * share)) ** 2),
        meaning="error of a voting student above that of the infinite ensemble, at most",
        assumptions=(
            *ASSUMPTIONS,
            "The student minimises the error on the labels over all votes of K classifiers of the class.",
            with_probability("2 beta"),
        ),
        terms={
            **found.terms,
            "printed_form_with_the_logarithm": 4 * share + 5 * c,
            "printed_form": 4 * share + 5 * (found.teachers * vc + math.log(4 / beta)) / m,
        },
        source="LZCW21 Theorem 13, corrected by a logarithm",
    )


def remark_14(rows_each: int, vc: int, *, tau: float = 1.0, eta: float = 1.0) -> Bound:
    """Remark 14: the nu at margin 1/6 that Tsybakov's condition promises for teachers of n/K rows.

    A question has a margin of 1/6 or less only if a teacher differs from h* there with chance 1/3 or more, so that
    nu <= 3 E Dis(h_1, h*) (Markov). The expectation is over training too, hence also over bad draws: their chance,
    taken to be 1/rows, is added. Printed as O~((dK/n)^(tau/(2 - tau))). Where a teacher differs with chance 1/2 or
    more h_inf may differ from h*: a share 2 nu/3 at most.
    """
    check_letters(rows_each=rows_each, vc=vc, tau=tau, eta=eta)
    # With one row there is no chance of a bad draw below one.
    chance = 1 / max(rows_each, 2)
    differs = tsybakov_disagreement(rows_each, vc, chance, tau=tau, eta=eta) + chance
    return Bound(
        value=min(1.0, 3 * differs),
        meaning="nu: share of questions on which a teacher's expected vote is within 1/6 of 1/2, at most",
        assumptions=(NOISE_CONDITION, "A teacher minimises the error on its independent rows over the class."),
        terms={
            "margin": AGREED_MARGIN,
            "best_disagreement": min(1.0, 2 * differs),
            "rate_without_constants_and_logs": min(1.0, vc / rows_each) ** (tau / (2 - tau)),
        },
        source="LZCW21 Remark 14, constants derived",
    )
