"""The infinite ensemble: what the majority of ever more teachers votes, and when voting helps or harms."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapl.bounds.bound import Bound
from mapl.bounds.letters import check_letters
from mapl.errors import CannotCalibrate, InvalidData


def _checked(shares: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(shares, dtype=np.float64)
    if found.ndim != 1 or found.size == 0 or not ((found >= 0) & (found <= 1)).all():
        raise InvalidData("Expected votes must be a list of numbers from 0 to 1, one for each question.")
    return found


def infinite_ensemble(shares: ArrayLike) -> NDArray[np.int64]:
    """Return the label that infinitely many teachers vote: 1 where the expected vote is at least 1/2.

    Examples
    --------
    >>> infinite_ensemble([1, 1 / 3, 1 / 3, 1 / 3]).tolist()
    [1, 0, 0, 0]
    """
    return (_checked(shares) >= 0.5).astype(np.int64)


def ensemble_error(shares: ArrayLike, chance_of_one: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return how often the infinite ensemble errs where each question's label is 1 with the given chance.

    Examples
    --------
    >>> ensemble_error([1, 1 / 3, 1 / 3, 1 / 3], [1, 1, 1, 1])
    0.75
    """
    truth = _checked(chance_of_one)
    wrong = np.where(infinite_ensemble(shares) == 1, 1 - truth, truth)
    return float(np.average(wrong, weights=None if weights is None else np.asarray(weights, dtype=np.float64)))


def small_margin_share(shares: ArrayLike, margin: float, weights: ArrayLike | None = None) -> float:
    """Definition 10: return nu = P[Delta(x) <= Delta], the share of questions whose expected margin is small.

    Delta(x) is the distance of the expected vote from 1/2. The paper prints P[Delta(x) > Delta] <= nu, which is
    reversed: it would be met by teachers that toss coins, and the words below it say "a margin of at least Delta
    except for O(nu m) points".

    Examples
    --------
    >>> small_margin_share([0.5, 0.6, 0.9, 1.0], 0.2)
    0.5
    """
    check_letters(margin=margin)
    small = np.abs(_checked(shares) - 0.5) <= margin
    return float(np.average(small, weights=None if weights is None else np.asarray(weights, dtype=np.float64)))


def example_8(voters: int = 3, gamma: float = 0.5) -> Bound:
    """Example 8, "voting fails": the excess error of the infinite ensemble over classifiers that all err at gamma.

    For every set of (j + 1)/2 of the j voters there is one question on which exactly they err; by symmetry each is
    learned equally often, and each such question is lost. With p = 2 j gamma/(j + 1) as the chance of these
    questions each voter errs at gamma and the majority at p: the excess is gamma (j - 1)/(j + 1). Figure 1 is
    j = 3, p = 3/4. It comes as near to gamma as one likes, and never exceeds it (Markov). A student of a class that
    also holds the majority fits the labels perfectly and inherits the excess; of the voters alone, as in Figure 1,
    it errs like the best.

    Examples
    --------
    >>> example_8().terms["ensemble_error"]
    0.75
    """
    check_letters(voters=voters, gamma=gamma)
    lost = 2 * voters * gamma / (voters + 1)
    if lost > 1:
        raise CannotCalibrate(
            f"gamma is {gamma:g}; {voters} classifiers that the majority all betrays err at most "
            f"{(voters + 1) / (2 * voters):g} each: lower gamma."
        )
    return Bound(
        value=lost - gamma,
        meaning="error of the infinite ensemble above the best classifier's, where voting fails, at least",
        assumptions=(
            f"{voters} classifiers err at gamma = {gamma:g} each, and teachers learn each equally likely.",
            "A student inherits it if its class also holds the majority of the voters.",
        ),
        terms={"ensemble_error": lost, "best_error": gamma, "largest_possible_excess": min(gamma, 1 - gamma)},
        source="LZCW21 Example 8, generalised from three voters",
    )


def example_9(margin: float, teachers: int) -> Bound:
    """Example 9, "voting wins": the error of K teachers that each err at most 1/2 - Delta on every question.

    Hoeffding's e^(-2 K Delta^2); the exact worst case, a binomial tail in which ties count as errors, is among the
    terms. The infinite ensemble never errs.

    Examples
    --------
    >>> found = example_9(0.1, 101)
    >>> found.terms["exact_worst_case"] < found.value < 0.14
    True
    """
    check_letters(margin=margin, teachers=teachers)
    from scipy.special import betainc

    least = (teachers + 1) // 2
    exact = float(betainc(least, teachers - least + 1, 0.5 - margin))
    return Bound(
        value=math.exp(-2 * teachers * margin**2),
        meaning=f"error of the majority of {teachers} teachers on any question, at most",
        assumptions=(f"Teachers are independent and err with chance {0.5 - margin:g} at most on every question.",),
        terms={"exact_worst_case": exact, "error_of_the_infinite_ensemble": 0.0},
        source="LZCW21 Example 9",
    )
