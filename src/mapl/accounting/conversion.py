"""From a Renyi moment to (epsilon, delta) and back, for probabilities and sub-probabilities.

For all p, q >= 0 and order a > 1,

    (p - e^eps q)_+  <=  (1/a) (1 - 1/a)^(a-1) e^(-(a-1) eps) p^a q^(1-a),

pointwise, so the inequality survives summation over any subset of outcomes. Proof: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math

SLACK = 1e-12
"""Relative allowance for floating-point error, always taken on the private side."""


def capacity(epsilon: float, delta: float, order: float) -> float:
    """Return the largest log-moment ``ln sum p^a q^(1-a)`` that order `order` converts to (epsilon, delta)."""
    if delta <= 0:
        return -math.inf
    shape = math.log(order) - (order - 1) * math.log1p(-1 / order)
    value = (order - 1) * epsilon + math.log(delta) + shape
    # Eight times the slack of the way back, so that spending a whole capacity reads as no more than epsilon.
    return value - 8 * SLACK * ((order - 1) * epsilon + abs(math.log(delta)) + abs(shape))


def epsilon_of_moment(log_moment: float, delta: float, order: float) -> float:
    """Return the epsilon that a log-moment at `order` guarantees at `delta`: the inverse of `capacity`."""
    if delta <= 0:
        return math.inf
    shape = math.log(order) - (order - 1) * math.log1p(-1 / order)
    epsilon = (log_moment - math.log(delta) - shape) / (order - 1)
    slack = SLACK * (abs(log_moment) + abs(math.log(delta)) + abs(shape)) / (order - 1)
    return max(0.0, epsilon + slack)
