"""The best of many private runs for about three times the price of one (Liu and Talwar; Papernot and Steinke).

Each run tries a threshold drawn from a declared list and counts, with noise, how many private records it is right
about. A random number of runs is made and only the best is published: sixty tries on average cost 3 epsilon, not 60
epsilon. Now and then there are few runs and something else than the best of the list is published; that it might be
so is what protects people.
"""

# %%
import numpy as np

from mapl import Loss, SystemCoins
from mapl.noise import decay, two_sided_geometric
from mapl.release import RandomRepetition

world = np.random.default_rng(11)
x = world.uniform(size=5000)
y = x > 0.62

EACH = 0.3  # epsilon of one run
thresholds = [round(0.05 * i, 2) for i in range(1, 20)]
coins = SystemCoins()


def run(candidate: int) -> tuple[int, float]:
    right = int(((x > thresholds[candidate]) == y).sum())  # one record more or less changes it by at most one
    return right + int(two_sided_geometric(coins, decay(EACH), 1)[0]), thresholds[candidate]


# %%
repetition = RandomRepetition.with_mean(60, n_candidates=len(thresholds))
_, best = repetition.release(run, coins)
price = repetition.price(Loss.pure(EACH)).epsilon(0.0)
print(f"best threshold {best}")
print(f"epsilon {price:.3g} at delta 0; adjacency: one record is added or removed; unit: one record")
print(f"paying for each of 60 runs would cost epsilon {60 * EACH:g} at delta 0, for the same adjacency and unit")
