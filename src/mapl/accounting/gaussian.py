"""What normal noise costs, certified in ball arithmetic."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

PRECISION = 160


def certify_gaussian(square: Fraction, *, epsilon: float, delta: float, extra: float = 0.0) -> bool:
    """Verify that a Gaussian mechanism keeps (epsilon, delta), where sampling costs `extra` of delta.

    Parameters
    ----------
    square
        mu^2: the squared distance that neighbouring data move the mean, over the variance of the noise, added up
        over all releases.
    """
    with ctx.workprec(PRECISION):
        return bool(gaussian_curve(square, epsilon) + arb(extra) <= arb(delta))


def gaussian_curve(square: Fraction, epsilon: float) -> arb:
    """Enclose delta at epsilon of a Gaussian mechanism by the square of its mu.

    Notes
    -----
    Balle and Wang (ICML 2018), Theorem 8: delta is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    """
    mu = (arb(square.numerator) / arb(square.denominator)).sqrt()
    level, root = arb(epsilon), arb(2).sqrt()
    near = ((level / mu - mu / 2) / root).erfc() / 2
    far = ((level / mu + mu / 2) / root).erfc() / 2
    return near - level.exp() * far
