"""What a release costs: a `Loss` is a value, `+` composes, `*` repeats, `.epsilon(delta)` reads it."""

from mapl.accounting.calibration import largest_integer, smallest_real
from mapl.accounting.conversion import capacity, epsilon_of_moment
from mapl.accounting.loss import ORDERS, Loss

__all__ = [
    "ORDERS",
    "Loss",
    "capacity",
    "epsilon_of_moment",
    "largest_integer",
    "smallest_real",
]
