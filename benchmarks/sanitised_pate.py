"""What PATE's labels cost by their votes once that figure may be published: its data-dependent analysis, sanitised.

    python benchmarks/sanitised_pate.py      # prices of noisy max on the votes that PATE's authors published

The noisy max of PATE-2018, without its confident filter: normal noise of scale sigma on each count. Its Renyi cost
by the votes depends on the votes, so it may only be told with noise of its own (Papernot and others 2018, by smooth
sensitivity), and that noise costs as well. What is below is our own code after the paper:

- A question's cost depends on its votes by q alone, how likely another class wins at most, and with e such that
  q = (m - 1)/2 erfc(e) one teacher moves e by at most 1/sigma (erfc(erfc^-1(u) - s) is concave in u, so that equal
  gaps move q most). Costs are made monotone in e and looked up on a grid, always at the end that costs more.
- All of a teacher's votes change at once, so sensitivities of questions add up; at a distance of d teachers e lies
  within d/sigma. The largest exp(-beta d) of these sums is the smooth sensitivity S.
- The cost plus normal noise of scale S sigma_s: two normals whose scales differ by a factor of exp(beta) and whose
  means by S at most have a Renyi divergence in closed form, of which the worst factor is taken.

The epsilon that is told is a random figure: its mean and standard deviation are returned, beta, sigma_s and the
order being the best of a grid for these very votes, which is generous to PATE. Delta 1e-5, one teacher's votes
change, unit: one teacher. Real votes are looked for in ../shared/data/votes. Results: benchmarks/results/pate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from mapl.reproduce.pate.votes import DELTA, ORDERS, gaussian_costs

Floats = NDArray[np.float64]

STEPS = 4
"""So many steps of the grid are what one teacher can move."""

LOWEST = -3.0
"""Below this e every question costs what any votes may cost."""

BETAS = (0.003, 0.006, 0.012, 0.025, 0.05, 0.1)
SCALES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
TRIED = 8
"""So many orders around the best one without sanitising are tried."""


@dataclass(frozen=True, slots=True)
class Price:
    """Epsilons of one set of answers: whatever the votes are, by the votes (private), and that made public."""

    always: float
    by_votes: float
    sanitised: float
    spread: float


def places(counts: Floats, sigma: float) -> Floats:
    """Return e of each question."""
    gaps = counts.max(axis=1, keepdims=True) - counts
    gaps[np.arange(len(counts)), counts.argmax(axis=1)] = np.inf
    log_q = logsumexp(log_ndtr(-gaps / (sigma * math.sqrt(2))), axis=1)
    return np.asarray(-ndtri_exp(np.minimum(log_q - math.log(counts.shape[1] - 1), -1e-12)) / math.sqrt(2))


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of a question on a grid of e, at every order, falling with e."""

    table: Floats
    sigma: float

    @classmethod
    def of(cls, highest: float, sigma: float, n_classes: int) -> Costs:
        # A step further than any question lies, so that what is beyond it can be looked up too.
        grid = np.arange(LOWEST, highest + 2 / sigma, 1 / (STEPS * sigma))
        log_q = np.minimum(math.log(n_classes - 1) + log_ndtr(-grid * math.sqrt(2)), 0.0)
        costs = gaussian_costs(log_q, sigma)
        return cls(np.maximum.accumulate(costs[::-1], axis=0)[::-1], sigma)

    def cells(self, e: Floats) -> NDArray[np.int64]:
        """Return the step of the grid below each e, which costs no less."""
        found = np.floor((e - LOWEST) * STEPS * self.sigma).astype(np.int64)
        return np.clip(found, 0, len(self.table) - 1)

    def total(self, cells: NDArray[np.int64]) -> Floats:
        """Return what all questions cost at each order."""
        return np.asarray(self.table[cells].sum(axis=0))

    def sensitivities(self, cells: NDArray[np.int64], order: int, n_teachers: int) -> Floats:
        """Return how far one teacher moves the cost of all questions, by how many teachers changed before."""
        column = self.table[:, order]
        beyond = np.concatenate([column, np.full(STEPS + 1, 0.0)])[STEPS + 1 :]
        widest = column - beyond
        counts = np.bincount(cells, minlength=len(column)).astype(np.float64)
        # What a neighbour one teacher below may lose counts too; each teacher more is a step both ways.
        reach = np.max([widest, *(np.concatenate([np.zeros(n), widest[:-n]]) for n in range(1, STEPS + 1))], axis=0)
        sums = [float(counts @ reach)]
        for _ in range(n_teachers):
            if reach[counts > 0].min(initial=np.inf) >= widest.max():
                break  # no question can move further
            reach = maximum_filter1d(reach, 2 * STEPS + 1, mode="constant")
            sums.append(float(counts @ reach))
        return np.array(sums)


def smooth(sensitivities: Floats, beta: float) -> float:
    """Return the smooth sensitivity; past the last distance sums no longer grow."""
    return float((np.exp(-beta * np.arange(len(sensitivities))) * sensitivities).max())


def noise_cost(order: float, beta: float, scale: float) -> float:
    """Return the Renyi divergence of a figure with noise of scale times its smooth sensitivity, at worst."""
    ratios = np.exp(np.linspace(-beta, beta, 101))
    mixed = order * ratios**2 - (order - 1)
    if mixed.min() <= 0:
        return math.inf
    moved = np.minimum(1, ratios) ** 2 * order / (2 * scale**2 * mixed)
    widened = (order * np.log(ratios) - 0.5 * np.log(mixed)) / (order - 1)
    return float((moved + widened).max())


def price(counts: Floats, sigma: float) -> Price:
    """Return what labels of these questions cost."""
    e = places(counts, sigma)
    costs = Costs.of(float(e.max()), sigma, counts.shape[1])
    cells, rest = costs.cells(e), math.log(1 / DELTA) / (ORDERS - 1)
    always = float((len(counts) * ORDERS / sigma**2 + rest).min())
    total = costs.total(cells)
    by_votes = float((total + rest).min())
    best, spread = math.inf, 0.0
    for order in np.argsort(total + rest)[: 4 * TRIED : 4]:
        sensitivities = costs.sensitivities(cells, int(order), int(counts[0].sum()))
        for beta in BETAS:
            wide = smooth(sensitivities, beta)
            for scale in SCALES:
                told = float(total[order] + rest[order]) + noise_cost(ORDERS[order], beta, scale)
                if told + wide * scale < best + spread:
                    best, spread = told, wide * scale
    return Price(always, by_votes, best, spread)


def main() -> None:
    """Price labels of the published votes, and write the table."""
    votes = Path(__file__).resolve().parents[2] / "shared" / "data" / "votes"
    lines = [
        "# PATE's prices by the votes, sanitised",
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        "Told: the mean of the epsilon that may be published, plus its standard deviation.",
        "",
        "| votes of 250 teachers | sigma | labels | right, % | whatever the votes are | by the votes, private "
        "itself | may be told |",
        "|---|---|---|---|---|---|---|",
    ]
    rng = np.random.default_rng(0)
    for data in ("mnist", "adult"):
        counts = np.load(votes / f"{data}_250_teachers.npy").astype(np.float64)
        truth = np.load(votes / f"{data}_labels.npy")
        for sigma in (20.0, 40.0, 60.0):
            right = (counts + rng.normal(scale=sigma, size=counts.shape)).argmax(axis=1) == truth
            for asked in (100, 300, 1000):
                found = price(counts[:asked], sigma)
                lines.append(
                    f"| {data} | {sigma:g} | {asked:,} | {100 * right[:asked].mean():.1f} | {found.always:.2f} | "
                    f"{found.by_votes:.2f} | {found.sanitised:.2f} + {found.spread:.2f} |"
                )
                print(lines[-1], flush=True)
    (Path(__file__).parent / "results" / "pate.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
