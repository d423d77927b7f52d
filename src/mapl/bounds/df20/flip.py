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
