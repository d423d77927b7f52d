"""The only randomness that protects people: exact integers from the operating system's generator."""

from mapl.noise.coins import ONE, Coins, SeededCoins, SystemCoins
from mapl.noise.geometric import decay, two_sided_geometric
from mapl.noise.tables import DEVIATION, NoiseTable, discrete_gaussian, discrete_laplace, rounded_gaussian

__all__ = [
    "DEVIATION",
    "ONE",
    "Coins",
    "NoiseTable",
    "SeededCoins",
    "SystemCoins",
    "decay",
    "discrete_gaussian",
    "discrete_laplace",
    "rounded_gaussian",
    "two_sided_geometric",
]
