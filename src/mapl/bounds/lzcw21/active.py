"""LZCW21 section 3.3: a student that asks only for the labels it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import CONTESTED
from mapl.bounds.learners import log_growth, rows_needed
from mapl.bounds.letters import check_letters
from mapl.bounds.lzcw21.labels import (
    CHUNKS,
    NOISE_CONDITION,
    PRIVACY,
    PUBLIC,
    Disagreement,
    gaussian_scale,
    gaussian_teachers,
    with_probability,
)
from mapl.bounds.lzcw21.passive import under_noise

TOLERATED = 1 / 4
"""Wrong labels that a step tolerates, as a share of the distance it has to reach."""
SMALLEST = 1e-12
LEARNER = (
    "Active learning is by phases: each asks about rows on which classifiers still in play disagree, until it has "
    "seen its rows or got its labels, then drops those with more mistakes than wrong labels explain; the mass of "
    "the disputed region is known from unlabelled rows."
)


@dataclass(frozen=True, slots=True)
class Phase:
    """Halving the distance, or less: how many public rows or how many labels are enough."""

    reach: float
    rows: int
    labels: int


def within(points: float, seen: int, reach: float, *, vc: int, log: float) -> float:
    """Return how far from the best classifier a survivor can be after so many points, wrong labels counted.

    With k = share of wrong labels (Bernstein) survivor and best classifier each differ from the labels on k at
    most, so from each other on 2k, and relative deviations give (sqrt(c) + sqrt(c + 2k))^2.
    """
    wrong = TOLERATED * reach
    wrong += math.sqrt(2 * wrong * log / points) + 2 * log / (3 * points)
    c = (log_growth(2 * seen, vc) + math.log(4) + log) / points
    return (math.sqrt(c) + math.sqrt(c + 2 * wrong)) ** 2


def phases(alpha: float, theta: float, vc: int, beta: float) -> list[Phase]:
    """Return the phases that take the distance from 1 to alpha, failing with probability beta together.

    At distance r the region in dispute has mass D = min(1, theta r) at most. N rows of the stream are N points;
    q labels inside the region are worth q/D points, with the growth function at 2q. A phase stops at whichever is
    first; both samples are of fixed size, and both statements hold.
    """
    number = math.ceil(math.log2(1 / alpha))
    log = math.log(4 * number / beta)
    found = []
    for step in range(number):
        distance, reach = (float(alpha ** (i / number)) for i in (step, step + 1))
        region = min(1.0, theta * distance)
        rows = rows_needed(_Falling(reach, 1.0, vc, log), reach)
        labels = rows_needed(_Falling(reach, region, vc, log), reach)
        found.append(Phase(reach, rows, min(labels, rows)))
    return found


@dataclass(frozen=True, slots=True)
class _Falling:
    reach: float
    region: float
    vc: int
    log: float

    def __call__(self, seen: int) -> float:
        return within(seen / self.region, seen, self.reach, vc=self.vc, log=self.log)


@dataclass(frozen=True, slots=True)
class ActiveStudent:
    """What excess error alpha takes: labels, noise, teachers, and the public rows that are looked at."""

    alpha: float
    labels: int
    rows: int
    scale: float
    teachers: int
    disagreement: float
    n_phases: int

    @property
    def possible(self) -> bool:
        """Whether teachers are right often enough for the phases."""
        return CONTESTED * self.disagreement <= TOLERATED * self.alpha


@dataclass(frozen=True, slots=True)
class ActiveSetting:
    """Everything that Theorem 15 depends on but alpha."""

    n: int
    vc: int
    epsilon: float
    delta: float
    theta: float
    beta: float
    disagreement: Disagreement

    def at(self, alpha: float) -> ActiveStudent:
        """Return what alpha takes: half of beta is spent on the phases, a quarter on teachers and on noise each."""
        steps = phases(alpha, self.theta, self.vc, self.beta / 2)
        labels = sum(step.labels for step in steps)
        scale = gaussian_scale(labels, self.epsilon, self.delta)
        teachers = gaussian_teachers(labels, scale, self.beta / 4)
        rate = self.disagreement(self.n // teachers, self.beta / (4 * teachers))
        return ActiveStudent(alpha, labels, sum(step.rows for step in steps), scale, teachers, rate, len(steps))

    def smallest(self, m: int) -> ActiveStudent | None:
        """Return the smallest alpha that n and m rows allow; labels, noise and teachers only fall as it grows."""
        high = 0.5
        best = self.at(high)
        if best.rows > m or not best.possible:
            return None
        low = SMALLEST
        while high / low > 1 + 1e-4:
            alpha = math.sqrt(low * high)
            tried = self.at(alpha)
            if tried.rows <= m and tried.possible:
                high, best = alpha, tried
            else:
                low = alpha
        return best


def theorem_15(
    n: int,
    m: int,
    *,
    vc: int,
    epsilon: float,
    delta: float,
    theta: float,
    tau: float = 1.0,
    eta: float = 1.0,
    beta: float = 0.05,
) -> Bound:
    """Theorem 15: the excess error of a student that asks Algorithm 1 for labels in the disputed region only.

    Printed as alpha = C1 max(eta^(2/(2 - tau)) ((dK ln(n/d) + ln(2K/beta))/n)^(tau/(2 - tau)),
    (d ln((m + n)/d) + ln(2/beta))/m) with l = C2 theta (1 + ln(1/alpha)) (d ln theta + ln(2 ln(1/alpha)/beta))
    labels and universal C1, C2. Here all constants are explicit, for a learner by phases (the paper's Algorithm 7
    is in an appendix); docs/bounds.md section 6. `theta` is theta(alpha), from `mapl.bounds.disagreement`.
    """
    check_letters(n=n, m=m, vc=vc, epsilon=epsilon, delta=delta, theta=theta, tau=tau, eta=eta, beta=beta)
    setting = ActiveSetting(n, vc, epsilon, delta, theta, beta, under_noise(vc, tau, eta))
    rate = (vc**1.5 * math.sqrt(theta * math.log(1 / delta)) / (n * epsilon)) ** (tau / (2 - tau))
    return active_bound(setting, m, max(rate, vc / m), NOISE_CONDITION, "LZCW21 Theorem 15, constants derived")


def active_bound(setting: ActiveSetting, m: int, rate: float, condition: str, source: str) -> Bound:
    """Describe the best alpha of a setting."""
    found = setting.smallest(m)
    terms = {"theta": setting.theta, "rate_without_constants_and_logs": rate}
    if found is not None:
        terms |= {
            "labels": found.labels,
            "public_rows_used": found.rows,
            "teachers": found.teachers,
            "teachers_as_printed": 6 * found.scale * math.sqrt(2 * math.log(2 * setting.n)),
            "sigma": found.scale,
            "teacher_disagreement": found.disagreement,
            "phases": found.n_phases,
        }
    vacuous = " (vacuous: more private or public rows are needed)" if found is None else ""
    return Bound(
        value=1.0 if found is None else found.alpha,
        meaning=f"error of the active student above the best classifier's, at most{vacuous}",
        assumptions=(PRIVACY, CHUNKS, PUBLIC, condition, LEARNER, with_probability("beta")),
        terms=terms,
        source=source,
    )
