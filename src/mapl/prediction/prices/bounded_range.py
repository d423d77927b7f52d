"""How far one record moves the log-odds of an answer: what the price of many answers hangs on.

An answer is one bit. If a neighbour moves its log-odds by at most `span`, the log-ratios of both chances lie in an
interval of that length, and an answer costs span^2/8 zero-concentrated. Any epsilon-private bit has a span
of at most 2 epsilon; those here come near epsilon, a quarter of the price, if flips are rare.
Proofs: docs/proofs/prediction-composition.md.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx, fmpq

from mapl.accounting import Loss
from mapl.errors import InvalidParameter
from mapl.mechanisms.single.gibbs_flip import GibbsFlip
from mapl.mechanisms.single.single import MANY_ORDERS
from mapl.noise import ONE
from mapl.prediction.predictors.flip import BITS, Real, ball, refuse_outside, up
from mapl.prediction.predictors.predictor import Predictor
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.teachers_vote import TeachersVote


def by_span(epsilon: float, span: float) -> Loss:
    """Return the loss of an epsilon-private bit whose log-odds a neighbour moves by at most span.

    Examples
    --------
    >>> narrow, wide = (by_span(0.1, span) * 1000 for span in (0.1, 0.2))
    >>> round(narrow.epsilon(1e-6), 1), round(wide.epsilon(1e-6), 1)
    (8.9, 20.5)
    """
    rho = span * span / 8 * (1 + 1e-12)
    pure = Loss.pure(epsilon, MANY_ORDERS)
    # At order infinity the first bound is infinite and the pure one stays.
    return Loss.of({order: min(rho * order, renyi) for order, renyi in pure.divergences})


def span_of_flipped(inner: float, eta: Real, flip: Real) -> float:
    """Return by how much a neighbour moves the log-odds of a flipped answer at most, rounded up.

    The answer has odds within `inner` but for a part `eta` of the coins (see `flip`), and is flipped with chance
    `flip`. The largest move is at an end or at the middle of the chances: Theorem 2.

    Examples
    --------
    >>> round(span_of_flipped(1.0, 0.0, 0.0001), 3), round(span_of_flipped(1.0, 0.01, 0.05), 3)
    (1.0, 0.925)
    """
    refuse_outside(inner, eta, flip)
    if not flip > 0:
        raise InvalidParameter(
            "flip is 0; without flips only stability is promised, and log-odds may move without end."
        )
    with ctx.workprec(BITS):
        e, f = ball(eta), ball(flip)
        least, most = f + (1 - 2 * f) * e, (1 - 2 * f) * (1 - e)
        half = (arb(inner) / 2).exp()
        end = least * (1 - f) / (f * (1 - least))
        middle = ((least + most * half / (1 + half)) / (f + most / (1 + half))) ** 2
        return max(up(end.log()), up(middle.log()))


def span_of_gibbs(vote: GibbsFlip) -> float:
    """Return by how much one changed teacher moves the log-odds of a flipped random vote at most: Theorem 3."""
    a, f, k = vote.per_vote, vote.per_label, vote.n_teachers
    ratio = Fraction(a + f, f) * Fraction(a * k + f, a * (k - 1) + f)
    with ctx.workprec(BITS):
        return up(arb(fmpq(ratio.numerator, ratio.denominator)).log())


def loss_of_answer(predictor: Predictor) -> Loss:
    """Return the loss of one answer with bounded range where that is proved, else the predictor's own."""
    if isinstance(predictor, StablePredictor) and predictor.odds and predictor.epsilon is not None:
        span = span_of_flipped(predictor.inner, predictor.subset.share, Fraction(predictor.flip, ONE))
        return by_span(predictor.epsilon, span)
    if isinstance(predictor, TeachersVote) and isinstance(predictor.vote, GibbsFlip):
        return by_span(predictor.vote.epsilon_each, span_of_gibbs(predictor.vote))
    return predictor.per_answer
