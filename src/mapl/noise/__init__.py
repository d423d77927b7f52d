"""The only randomness that protects people: exact integers from the operating system's generator."""

from mapl.noise.coins import ONE, Coins, SeededCoins, SystemCoins
from mapl.noise.tables import NoiseTable, discrete_gaussian, discrete_laplace

__all__ = [
    "ONE",
    "Coins",
    "NoiseTable",
    "SeededCoins",
    "SystemCoins",
    "discrete_gaussian",
    "discrete_laplace",
]
