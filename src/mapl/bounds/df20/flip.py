"""From approximate to pure privacy of a prediction: flip it now and then (DF20 Corollary 1, sharpened)."""

from __future__ import annotations

import math

from mapl.types import Floats


def flip_for(epsilon: float, additive: Floats) -> Floats:
    """Return the chance of flipping that makes (epsilon, delta)-private predictions purely epsilon-private.

    Flipping with f maps p to (1 - 2f)p + f. Of the two ratios that matter one is 1 + (1 - 2f) delta/f, which equals
    e^epsilon at f = delta/(e^epsilon - 1 + 2 delta); the other then equals e^epsilon too.
    """
    return additive / (math.expm1(min(epsilon, 700.0)) + 2 * additive)


def pure_epsilon(inner: float, additive: float, flip: float) -> float:
    """Return the pure epsilon of an (inner, additive)-private prediction that is flipped with the given chance.

    max{ln(1 + (1 - 2f) delta/f), ln((1 - f)/((1 - 2f)(1 - delta) e^(-inner) + f))}: section 4.4 (3) of the notes,
    at the two corners of the region of allowed pairs of probabilities.
    """
    up = math.log1p((1 - 2 * flip) * additive / flip)
    down = math.log((1 - flip) / ((1 - 2 * flip) * (1 - additive) * math.exp(-inner) + flip))
    return max(up, down)
