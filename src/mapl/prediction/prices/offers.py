"""Every way to answer so many questions within a budget, with price and bound, before a private row is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from mapl.accounting import Loss
from mapl.accounting.calibration import smallest_real
from mapl.bounds.bound import Bound
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.single.gibbs_flip import GibbsFlip
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.noise import ONE
from mapl.parameters import spell
from mapl.prediction.hypotheses import HypothesisClass, Stumps, Thresholds
from mapl.prediction.predictors.predictor import RECORDS
from mapl.prediction.predictors.stable_settings import MOST_RECORDS, for_epsilon
from mapl.prediction.predictors.teachers_vote import vote_for
from mapl.prediction.prices import auto
from mapl.prediction.prices import padded_stumps as padded_price
from mapl.prediction.prices.auto import Fit, PredictorQuestion
from mapl.prediction.prices.bounded_range import by_span, span_of_flipped, span_of_gibbs
from mapl.types import Budget, RecordAdjacency, positive_integer

NAMES: Mapping[str, str] = {
    "padded-stumps": "padded",
    "stable": "stable",
    "realizable": "realizable-vote",
    "gibbs": "gibbs-vote",
    "two-stage": "two-stage",
}
"""The methods that spend with every question: what users call them, and what `auto` does."""

NEEDS_NO_NUMBER = "padded-stumps"
"""The one method that needs no idea of how many records there are."""
TWO_STAGE_FROM = 10**6
"""For fewer records the two-stage bound says nothing at any epsilon of use, so that it is not worth computing."""
CAUTION = 1e-9
LEAST_EACH, MOST_EACH = 1e-4, 30.0
MOST_QUESTIONS = 10**9


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for, all public. `n` is the number of records, or where that is private a public guess."""

    budget: Budget
    n_questions: int
    hypotheses: HypothesisClass
    adjacency: RecordAdjacency
    n: int | None
    realizable: bool = False
    alpha: float | None = None

    def __post_init__(self) -> None:
        padded_price.refuse_unknown(self.adjacency)
        positive_integer(n_queries=self.n_questions)
        if self.n_questions > MOST_QUESTIONS:
            raise InvalidParameter(
                f"n_queries is too large; at most {MOST_QUESTIONS:,} questions are planned for. Ask fewer."
            )
        if self.alpha is not None and not (isinstance(self.alpha, int | float) and 0 < self.alpha < 1):
            raise InvalidParameter(f"alpha is {self.alpha}; it is an error and must lie between 0 and 1.")
        if not math.isfinite(self.budget.epsilon):
            raise InvalidParameter("epsilon is infinite, which promises nothing; give one between 0.1 and 10.")
        if self.n is not None:
            positive_integer(n_rows=self.n)
            if self.n > MOST_RECORDS:
                raise InvalidParameter(f"n_rows is too large; at most {MOST_RECORDS:,} records are planned for.")

    def at(self, epsilon: float) -> PredictorQuestion:
        """Return the question that the bounds answer, at an epsilon for each answer."""
        return PredictorQuestion(self.n or 1, epsilon, self.hypotheses, self.adjacency, self.realizable)


@dataclass(frozen=True, slots=True)
class Offer:
    """One method at the largest epsilon per answer that the budget allows; `fit` makes the predictor."""

    method: str
    epsilon_each: float
    per_answer: Loss
    bound: Bound | None
    fit: Fit = field(repr=False)


def best_offer(wanted: Wanted, method: str = "auto") -> Offer:
    """Return the offer of the least bound, or of the named method; refuse what is out of reach, with the n needed.

    Examples
    --------
    >>> wanted = Wanted(Budget(1.0, 0.0), 10, Thresholds(), "add-remove", 5000)
    >>> offer = best_offer(wanted)
    >>> offer.method, round(offer.epsilon_each, 6)
    ('padded-stumps', 0.1)
    """
    if method not in ("auto", *NAMES):
        raise InvalidParameter(f"The method is {method!r}; choose auto, {', '.join(NAMES)} or semi-private.")
    found = _best(wanted, method)
    if wanted.alpha is not None and (found.bound is None or not float(found.bound) <= wanted.alpha):
        raise CannotCalibrate(_too_few(wanted, method, wanted.alpha))
    return found


def _best(wanted: Wanted, method: str) -> Offer:
    if wanted.n is None:
        return _without_number(wanted, method)
    offers: list[Offer] = []
    refused: list[str] = []
    for name in NAMES if method == "auto" else (method,):
        if method == "auto" and name == "two-stage" and wanted.n < TWO_STAGE_FROM:
            continue
        try:
            offers.append(_offer(wanted, name))
        except (CannotCalibrate, InvalidParameter) as refusal:
            refused.append(str(refusal))
    if not offers:
        raise CannotCalibrate(
            f"{wanted.n_questions} questions cannot be answered within epsilon {wanted.budget.epsilon:g}, delta "
            f"{wanted.budget.delta:g}, if {RECORDS[wanted.adjacency]}: {' '.join(dict.fromkeys(refused))}"
        )
    best = min(offers, key=lambda offer: 1.0 if offer.bound is None else float(offer.bound))
    if best.bound is None or float(best.bound) < auto.VACUOUS:
        return best
    # Where no bound says anything: measured, padded stumps are far ahead of the others.
    return next((offer for offer in offers if offer.method == NEEDS_NO_NUMBER), best)


def _without_number(wanted: Wanted, method: str) -> Offer:
    """Make the one offer that needs no number of records."""
    if method not in ("auto", NEEDS_NO_NUMBER) or not isinstance(wanted.hypotheses, Thresholds | Stumps):
        raise InvalidParameter(
            "If records are added or removed, their number is private, and this method is tuned by it; declare "
            f"about how many there are as far as the public knows ({spell('rows')}), or take replace-one."
        )
    # The bound for one record says nothing, so that it is not shown.
    return replace(_offer(wanted, NEEDS_NO_NUMBER), bound=None)


def _offer(wanted: Wanted, name: str) -> Offer:
    each = epsilon_each(wanted, name)
    bound, fit = auto.METHODS[NAMES[name]](wanted.at(each))
    return Offer(name, each, price(wanted, name, each), bound, fit)


def price(wanted: Wanted, name: str, epsilon: float) -> Loss:
    """Return the loss of one answer of a method at this epsilon, before it is fitted."""
    if name == "padded-stumps":
        rate = padded_price.rate_for(epsilon, adjacency=wanted.adjacency)
        return padded_price.loss_of(rate, adjacency=wanted.adjacency)
    if name == "stable":
        found = for_epsilon(wanted.at(epsilon).n, epsilon, wanted.hypotheses, adjacency=wanted.adjacency)
        inner = found.rate if wanted.adjacency == "add-remove" else 2 * found.rate
        return by_span(epsilon, span_of_flipped(inner, found.subset.share, Fraction(found.flip, ONE)))
    if name == "gibbs":
        bound, _ = auto.METHODS["gibbs-vote"](wanted.at(epsilon))
        vote = vote_for(epsilon, int(bound.terms["teachers"]), by=GibbsFlip.name)
        assert isinstance(vote, GibbsFlip)
        return by_span(epsilon, span_of_gibbs(vote))
    return Loss.pure(epsilon, MANY_ORDERS)


def epsilon_each(wanted: Wanted, name: str) -> float:
    """Return the largest epsilon for each answer, up to bisection, at which all of them stay within the budget."""
    epsilon, delta, m = wanted.budget.epsilon, wanted.budget.delta, wanted.n_questions
    even = min(epsilon / m, MOST_EACH) * (1 - CAUTION)
    if even < LEAST_EACH and delta == 0:
        possible = math.floor(epsilon / LEAST_EACH)
        fewer = f"ask at most {possible:,}" if possible else f"take an epsilon of at least {LEAST_EACH:g}"
        raise CannotCalibrate(
            f"{m:,} question{'s' * (m > 1)} leave{'s' * (m == 1)} epsilon {even:.2g} for each, where answers are "
            f"all but fair coins; {fewer}, allow a delta, or take semi-private, which pays once for all."
        )
    if m == 1 or delta == 0:
        return even
    most = min(epsilon, MOST_EACH) * (1 - CAUTION)

    def affordable(inverse: float) -> bool:
        return (price(wanted, name, 1 / inverse) * m).epsilon(delta) <= epsilon

    least = max(even, LEAST_EACH)
    if not affordable(1 / least):
        raise CannotCalibrate(
            f"{m} questions at epsilon {least:.2g} each, the least there is, cost more than epsilon {epsilon:g} at "
            f"delta {delta:g}; ask fewer, or take semi-private, which pays once for all."
        )
    return 1 / smallest_real(affordable, 1 / most, 1 / least, rounds=16)


def _too_few(wanted: Wanted, method: str, alpha: float) -> str:
    """Say how many records would do."""
    said = (
        f"epsilon {wanted.budget.epsilon:g}, delta {wanted.budget.delta:g} for {wanted.n_questions} questions, if "
        f"{RECORDS[wanted.adjacency]}"
    )
    if wanted.n is None:
        return (
            f"Whether an error of {alpha:g} above the best of the class is reached with {said}, hangs on the "
            f"number of records; declare about how many there are ({spell('rows')})."
        )

    def reached(n: int) -> bool:
        try:
            bound = _best(replace(wanted, n=n), method).bound
        except CannotCalibrate:
            return False
        return bound is not None and float(bound) <= alpha

    enough = _enough(reached, wanted.n)
    if enough is None:
        return (
            f"An error of {alpha:g} above the best of the class is out of reach of all bounds known, even for "
            f"{MOST_RECORDS:,} records, with {said}. Allow more error."
        )
    return (
        f"{wanted.n} records are too few for an error of {alpha:g} above the best of the class with {said}, by any "
        f"bound known; about {enough:,} records would do. Give more, allow more error, ask fewer questions, or "
        "take a larger epsilon."
    )


def _enough(reached: Callable[[int], bool], n: int) -> int | None:
    """Return how many records do, up to a twentieth, by halving the range of their logarithm; None if none do."""
    low, high = n, MOST_RECORDS
    if not reached(high):
        return None
    while high - low > max(1, low // 20):
        middle = min(max(math.isqrt(low * high), low + 1), high - 1)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
