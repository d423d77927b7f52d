"""DF20 Theorem 2: relabel the rows by a drawn pattern, then predict by a private vote; with explicit constants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from mapl.bounds.bound import Bound
from mapl.bounds.btt18.algorithm2 import Constants
from mapl.bounds.df20.df18 import PRIVACY
from mapl.bounds.df20.flip import flip_for
from mapl.bounds.df20.stable import generalisation
from mapl.bounds.families import ClassifierKind, Family
from mapl.bounds.learners import log_growth, rows_needed
from mapl.bounds.letters import check_letters
from mapl.bounds.parameters import MOST
from mapl.errors import InvalidParameter
from mapl.types import Floats

PRINTED = (2.0, 2.0)
SPLITS = tuple(product((0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5), (0.25, 0.5, 0.75, 1.0, 1.5)))
"""What a M and epsilon_r M may be; the paper has 2 and 2, which makes a constant of 4 e^6."""
FRACTIONS = (1.0, 0.7, 0.5, 0.35, 0.25)
FINE = 400
WAY = (
    "A pattern on n' of the n rows is drawn by weights exp(-a errors), all rows are relabelled by it, and the vote "
    "of teachers on fixed shards predicts, by the threshold with Laplace noise; anew for every prediction."
)


@dataclass(frozen=True, slots=True)
class Relabelled:
    """The best parameters: excess error, net, subset, weights a, inner epsilon of the vote, its error, flip."""

    excess: float
    net: float
    subset: int
    weight: float
    vote_epsilon: float
    vote_loss: float
    flip: float

    @property
    def terms(self) -> dict[str, float]:
        return {
            "net": self.net,
            "subset": self.subset,
            "a": self.weight,
            "vote_epsilon": self.vote_epsilon,
            "vote_error": self.vote_loss,
            "flip": self.flip,
        }


def best_relabelling(
    n: int, epsilon: float, family: Family, splits: Iterable[tuple[float, float]], slack: float = 0.0
) -> Relabelled:
    """Return the best parameters for pure epsilon.

    Two matched patterns differ on M = floor(nu (n - 1)) + 1 rows at most, which costs a factor
    Lambda = 4 e^((2a + eps_r) M); sampling n' of n rows leaves ln(1 + Lambda n'/(n - n')) + 2a + eps_r, set to
    epsilon at most, and an additive (n'/n) P[no net], which flipping turns into pure privacy. Excess error:
    nu + P[no net] + ln|H_T|/(a n) + the vote's error + flip. `slack` is what fresh rows add to a teacher's error.
    """
    nus = np.geomspace(min(0.4, 1 / n), 0.4, FINE)
    together = np.floor(nus * (n - 1)) + 1
    best = Relabelled(1.0, 1.0, 0, 0.0, 0.0, 1.0, 0.0)
    losses: dict[float, Floats] = {}
    for weight, vote in splits:
        a, inner = weight / together, vote / together
        room = np.expm1(min(epsilon, 700.0) - 2 * a - inner) / (4 * math.exp(2 * weight + vote))
        if vote not in losses:
            losses[vote] = _vote_loss(n, inner, family, slack)
        for fraction in FRACTIONS:
            odds = np.maximum(room, 0.0) * fraction
            sizes = np.minimum(np.floor(n * (odds / (1 + odds))), n - 1)
            held = np.maximum(sizes, 2.0)
            missed = family.missed(n, nus, held)
            flip = flip_for(epsilon, held / n * family.missed(max(n - 1, 1), nus, held - 1))
            total = nus + missed + family.log_patterns(held) / (a * n) + losses[vote] + flip
            at = int(np.where(sizes >= 2, total, np.inf).argmin())
            if sizes[at] >= 2 and total[at] < best.excess:
                best = Relabelled(
                    excess=float(total[at]),
                    net=float(nus[at]),
                    subset=int(sizes[at]),
                    weight=float(a[at]),
                    vote_epsilon=float(inner[at]),
                    vote_loss=float(losses[vote][at]),
                    flip=float(flip[at]),
                )
    return best


def _vote_loss(n: int, inner: Floats, family: Family, slack: float) -> Floats:
    """Return min over k of 4 t + e^(-inner k/4)/2, t the error of a teacher on floor(n/k) rows (DF18, xi = 1/4)."""
    k = np.unique(np.round(np.geomspace(1, n, FINE)))
    rows = np.floor(n / k)
    # Deviations hold for classifiers of the class, so that fresh rows need teachers of the class.
    teacher = (
        (np.sqrt(slack) + np.sqrt(slack + family.member_error(rows))) ** 2 if slack else family.teacher_error(rows)
    )
    return np.asarray((4 * teacher + np.exp(-inner[:, None] * k / 4) / 2).min(axis=1))


def theorem_2_on_sample(
    n: int,
    epsilon: float,
    *,
    kind: ClassifierKind = ClassifierKind.any,
    vc: int | None = None,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 2 on the rows themselves: a private prediction's expected error above the best classifier's there.

    Printed constants are the paper's (4 e^6), derived ones are tuned. The pattern depends on the rows but not
    on how they fall into shards, so a teacher's expected error on the other rows is that for a fixed truth.
    """
    check_letters(n=n, epsilon=epsilon, constants=constants)
    family = Family.of(kind, vc)
    found = best_relabelling(n, epsilon, family, [PRINTED] if constants == Constants.printed else SPLITS)
    return Bound(
        value=min(1.0, found.excess),
        meaning="expected error of a private prediction on the private rows above the best classifier's, at most",
        assumptions=(
            PRIVACY,
            WAY,
            "Rows are independent, so that shards are random parts of them; no two are equal.",
        ),
        terms=found.terms,
        source=f"DF20 Theorem 2, {constants} constants",
    )


def theorem_2(
    n: int,
    epsilon: float,
    *,
    kind: ClassifierKind = ClassifierKind.any,
    vc: int | None = None,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 2: a private prediction's expected error above the best classifier's.

    Printed as n = O~(d^2/(epsilon alpha) + d/alpha^2); constants derived. On fresh rows pattern and teacher differ
    more than on the private ones by relative deviations for all pairs of classifiers, with
    c = (2 ln G(2n) + ln(8n))/n; 1/n is added for the draws on which deviations are larger.
    """
    check_letters(n=n, epsilon=epsilon, constants=constants)
    family = Family.of(kind, vc)
    slack = (2 * log_growth(2 * n, family.vc) + math.log(8 * n)) / n
    found = best_relabelling(n, epsilon, family, [PRINTED] if constants == Constants.printed else SPLITS, slack)
    extra = generalisation(n, family.vc, 1 / (2 * n)) + 1 / n
    return Bound(
        value=min(1.0, found.excess + extra),
        meaning="expected error of a private prediction above the best classifier's, at most",
        assumptions=(PRIVACY, WAY, "Rows are independent, no two are equal, and teachers are of the class."),
        terms={
            **found.terms,
            "excess_without_generalisation": found.excess,
            "generalisation": extra,
            "rate_without_constants_and_logs": family.vc**2 / (epsilon * n) + math.sqrt(family.vc / n),
        },
        source=f"DF20 Theorem 2, {constants} constants",
    )


def theorem_2_rows(
    alpha: float,
    epsilon: float,
    *,
    kind: ClassifierKind = ClassifierKind.any,
    vc: int | None = None,
    constants: Constants = Constants.derived,
) -> Bound:
    """Theorem 2, the other way: rows that suffice for an excess error of alpha.

    Examples
    --------
    >>> 1e6 < float(theorem_2_rows(0.05, 1.0, kind="thresholds")) < 1e7
    True
    """
    check_letters(alpha=alpha, epsilon=epsilon, constants=constants)
    family = Family.of(kind, vc)
    if float(theorem_2(MOST, epsilon, kind=kind, vc=vc, constants=constants)) > alpha:
        raise InvalidParameter(
            f"An error of {alpha:g} at epsilon {epsilon:g} would take more than {MOST:,} rows; give a larger alpha "
            "or epsilon."
        )
    # The search doubles, and may step beyond the most rows that a bound is computed for.
    n = rows_needed(
        lambda rows: float(theorem_2(min(rows, MOST), epsilon, kind=kind, vc=vc, constants=constants)), alpha
    )
    found = theorem_2(n, epsilon, kind=kind, vc=vc, constants=constants)
    return Bound(
        value=float(n),
        meaning=f"rows that suffice for an error of {alpha:g} of a private prediction above the best classifier's",
        assumptions=found.assumptions,
        terms={
            **{name: value for name, value in found.terms.items() if not name.startswith("rate")},
            "rate_without_constants_and_logs": family.vc**2 / (epsilon * alpha) + family.vc / alpha**2,
        },
        source=f"DF20 Theorem 2, {constants} constants",
    )
