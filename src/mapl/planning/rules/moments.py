"""How moments are released and learned from, by public facts alone.

The constants were found on parts of the train splits of 35 real tables (docs/measured/moments.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FEWEST_ROUNDS, MOST_ROUNDS = 4, 8

SHORTER = 0.5
"""How long contributions are after the first round, beside those of the first; 0.5 and 0.7 are about level."""

ENOUGH = 5
"""So many public rows for each column tell the curvature by themselves."""

TOLD_BY_A_ROW = 2
"""By so many deviations of the noise a direction may stand out for each public row, and no more. Between 1.5 and 3
tables hardly differ; with 5, diamonds lost five points at epsilon 4."""

USUAL_RATIO, FEWEST_UNITS = 5, 3000
"""How many private units there are for a public row, and at least, where nothing is declared: a map for 3,000 costs
1,000 units a point at most, and one for 500 costs 13,000 up to fourteen."""

PRODUCT_ROUNDS, PRODUCTS = 6, 0.3
"""How many rounds follow one of products, and what that gets of the charge, where there are no public rows."""

COARSE_BINS, FINE_BINS = 16, 32
"""Into how many public bins a number is cut, at most."""

FINE_FROM = 800
"""Bins are fine where there are so many units for each class, in deviations of the noise of one round of all."""

ENOUGH_FOR_FINE = 2
"""So many public rows for each column, fine bins among them, tell how these go together. On parts of train splits,
wages with fewer fell from 64 to 47%; with 5 in the place of 2, diamonds lost a point by coarse bins."""

WORDS_ALONE, WORDS_BESIDE = 0.94, 0.5
"""What the words get of the charge where a table has nothing but text, and where it has other columns too."""

APART_UNITS, APART_SIGNAL = 2_000_000, 400_000.0
"""From so many units on, where as many times mu stand out of the noise, every unit adds to one round only."""

MOST_EQUAL = 1e-4
"""The largest share of pairs of equal public rows at which records without ids are parted by their content."""


@dataclass(frozen=True, slots=True)
class MomentsDesign:
    """How sums are released and learned from.

    Parameters
    ----------
    rounds
        How often sums of features are released.
    shortening
        By how much contributions are shorter after the first of these rounds.
    keep
        How much less an older round counts than the next one.
    shuffled
        The weight of made-up public rows, whose columns are shuffled one by one: where real ones are few, these
        tell what columns look like, and nothing about how they go together.
    words
        What a round before these, of the words of texts, gets of the charge; 0 where there is no text.
    products
        What a round before these, of the products of features, gets of the charge; 0 where there are public rows.
    apart
        Whether every unit adds to one round only.
    """

    rounds: int
    shortening: float = SHORTER
    keep: float = 0.7
    shuffled: float = 0.0
    words: float = 0.0
    products: float = 0.0
    apart: bool = False

    def bound(self, round_number: int, n_classes: int) -> float:
        """Return the largest norm of a contribution to a round; at an even guess nothing is shortened."""
        return math.sqrt(1 - 1 / n_classes) * (self.shortening if round_number else 1.0)

    @property
    def shares(self) -> tuple[float, ...]:
        """What each round gets of the charge."""
        before = tuple(share for share in (self.words, self.products) if share)
        return (*before, *((1 - sum(before)) / self.rounds,) * self.rounds)

    def in_a_round(self, n_units: int | None) -> int | None:
        """Return about how many of the declared units add to a round."""
        return n_units if n_units is None or not self.apart else max(1, round(n_units / self.rounds))

    def signal(self, n_units: int | None, n_public: int, mu: float, n_classes: int) -> float:
        """Return the square of what a direction of all the length would stand out by, over the noise of a round.

        Sums may be clearer than public rows can say what they are sums of: a direction that hardly differs among
        few of these differs more among the private ones.
        """
        charge = mu / self.rounds if self.apart else mu * math.sqrt(self.shares[-1])
        clear = (units_of(n_units, n_public) * charge / n_classes) ** 2 / (1 - 1 / n_classes)
        return clear if self.products else min(clear, (TOLD_BY_A_ROW * n_public) ** 2)

    def gains_by_rows(self, n_units: int | None, n_public: int, mu: float, n_classes: int) -> bool:
        """Say whether it would help to know of more units than few public rows stand for, where nobody told."""
        if n_units is not None or USUAL_RATIO * n_public >= FEWEST_UNITS:
            return False
        guessed, more = (self.signal(n, n_public, mu, n_classes) for n in (None, 2 * FEWEST_UNITS))
        return guessed < more

    def has_fine_bins(self, n_units: int | None, n_public: int, n_columns: int, mu: float, n_classes: int) -> bool:
        """Say whether numbers are cut into fine bins, each of which may say something of its own.

        With fewer people, or where public rows do not tell how columns go together, coarse ones lose less to noise.

        Parameters
        ----------
        n_columns
            How many encoded columns there would be, fine bins among them.
        """
        if self.shuffled or self.products or n_public < ENOUGH_FOR_FINE * n_columns:
            return False
        return units_of(n_units, n_public) * mu * math.sqrt(1 - self.words) >= FINE_FROM * n_classes


def units_of(n_units: int | None, n_public: int) -> int:
    """Return about how many units there are, by what is declared or by how many public rows there are."""
    return max(USUAL_RATIO * n_public, FEWEST_UNITS) if n_units is None else n_units


def rounds_for(mu: float) -> int:
    """Return how many rounds there are: where there is less noise, more of them find a better model.

    >>> rounds_for(0.03), rounds_for(0.13), rounds_for(0.5), rounds_for(4.0)
    (4, 6, 7, 8)
    """
    return min(max(round(7.6 + math.log(mu)), FEWEST_ROUNDS), MOST_ROUNDS)


def design_for(
    n_public: int, n_columns: int, mu: float, *, words: float = 0.0, made_up: bool = False
) -> MomentsDesign:
    """Return the design for so many public rows and encoded columns, bins not counted.

    Parameters
    ----------
    mu
        What all rounds together may be: Gaussian differentially private of this parameter.
    made_up
        Whether there are no public rows but such as were made up of what is declared.
    """
    if made_up:
        return MomentsDesign(PRODUCT_ROUNDS, shortening=0.7, products=PRODUCTS)
    if n_public >= ENOUGH * n_columns:
        return MomentsDesign(rounds_for(mu), words=words)
    return MomentsDesign(MOST_ROUNDS, shuffled=n_columns / (n_columns + 2 * n_public), words=words)


def may_part(design: MomentsDesign, n_units: int | None, mu: float) -> bool:
    """Say whether there are so many units that each may add to one round: noise hardly counts, and time does.

    Words and products need everybody, and few public rows tell too little of parts.

    >>> few, many = (may_part(MomentsDesign(6), n, 0.2) for n in (1_900_000, 2_000_000))
    >>> few, many, may_part(MomentsDesign(6), 2_000_000, 0.1), may_part(MomentsDesign(6), None, 0.2)
    (False, True, False, False)
    """
    if n_units is None or design.words or design.products:
        return False
    return n_units >= APART_UNITS and n_units * mu >= APART_SIGNAL
