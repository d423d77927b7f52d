"""The whole path from records to noisy sums, on every small table and all its neighbours, in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from mapl.accounting.gaussian import PRECISION, certify_gaussian, gaussian_curve
from mapl.audit.counts.tables import CellWorld, Table, neighbours
from mapl.audit.finding import Finding, Verdict
from mapl.data.moments.contributions import ExactSums
from mapl.mechanisms.tables.argmax_price import SAMPLING
from mapl.noise import Coins, SeededCoins
from mapl.noise.gaussian import DEVIATION_BITS, draw_gaussian
from mapl.release.moment_sums import TOLD_BITS, MomentSums
from mapl.release.statement.promise import promise_of
from mapl.types import Adjacency, Budget, Floats, Integers

WORLD = CellWorld(points=(0.0, 1.5, -1e300), most=2)
"""A record at the centre, one near it, and one farther out than any public row."""

PLACES = tuple(k / 4 for k in range(16))
"""How many deviations beyond the even place an adversary may bet."""

GRAIN = 1 << (DEVIATION_BITS - TOLD_BITS)
"""In which steps noisy sums are told."""


@dataclass(frozen=True, slots=True)
class ToldSums:
    """What a table turns into before noise is drawn: what is told openly, and the sums of every round.

    What earlier rounds released is the same for all tables, as in the proof: models of later ones are given.
    """

    openly: Hashable
    rounds: tuple[tuple[int, ...], ...]


SumUp = Callable[[Table], ToldSums]
"""From records to what is told openly, and the sums that noise is added to."""

SumsRelease = Callable[[MomentSums, Sequence[ExactSums], Coins], Sequence[Floats]]
"""From the sums of all rounds to what is told of them, in deviations of the noise."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far two neighbouring tables are apart: the squared distance of each round, and of all over the noise."""

    squares: tuple[int, ...]
    mu_square: Fraction
    told_apart: bool

    @classmethod
    def between(cls, one: ToldSums, other: ToldSums) -> Step:
        shapes = [tuple(map(len, told.rounds)) for told in (one, other)]
        if one.openly != other.openly or shapes[0] != shapes[1]:
            return cls((), Fraction(0), True)
        squares = tuple(
            sum((a - b) ** 2 for a, b in zip(*both, strict=True))
            for both in zip(one.rounds, other.rounds, strict=True)
        )
        return cls(squares, Fraction(sum(squares), 1 << (2 * DEVIATION_BITS)), False)


def release_rounds(mechanism: MomentSums, sums: Sequence[ExactSums], coins: Coins) -> Sequence[Floats]:
    """Release round after round as a run does."""
    return [mechanism.release(number, one, coins) for number, one in enumerate(sums)]


def audit_sums(
    sum_up: SumUp,
    claims: MomentSums,
    budget: Budget,
    *,
    adjacency: Adjacency = "add-remove",
    unit: str | None = "person",
    release: SumsRelease = release_rounds,
    world: CellWorld = WORLD,
) -> Finding:
    """Compare what noisy sums claim with what every change of one unit does to them, exactly.

    Parameters
    ----------
    sum_up
        What happens to the records before noise is drawn.
    claims
        Whose reaches and changes are examined, at a budget.
    unit
        None if every record is a unit of its own, whatever ids it carries.
    release
        What adds the noise.
    world
        Which tables are tried.
    """
    promise = promise_of(adjacency, unit)
    told = {table: sum_up(table) for table in world.tables()}
    allowed = [(claims.changes * reach) ** 2 for reach in claims.reaches]
    farthest, worst, n_changes = [0] * len(allowed), Step((), Fraction(0), False), 0
    witness: tuple[Table, Table] | None = None
    for changes, some in neighbours(told, adjacency, per_record=unit is None):
        n_changes += changes
        for (one, table), (other, neighbour) in some:
            step = Step.between(one, other)
            farthest = (
                [max(pair) for pair in zip(farthest, step.squares, strict=True)] if step.squares else farthest
            )
            if (step.told_apart, step.mu_square) > (worst.told_apart, worst.mu_square):
                worst, witness = step, (table, neighbour)
    dependent: Table | None = None
    if adjacency != "labels":  # where features are public, what a unit adds may depend on those of others
        dependent = next((table for table in told if _depends(table, told, per_record=unit is None)), None)
    if witness is None and dependent is not None:
        witness = dependent, ()
    kept = (
        certify_gaussian(worst.mu_square, epsilon=budget.epsilon, delta=budget.delta) if worst.mu_square else True
    )
    exceeded = {
        "what is told openly differs": worst.told_apart,
        "sensitivity": any(found > most for found, most in zip(farthest, allowed, strict=True)),
        "what a unit adds depends on others": dependent is not None,
        "noise": not _is_as_priced(release, claims),
        "delta": not kept or not claims.certify(budget),
    }
    broken = [part for part, is_exceeded in exceeded.items() if is_exceeded]
    lower = 1.0 if worst.told_apart else _bet(told, witness, budget.epsilon)
    return Finding(
        mechanism=claims.name,
        epsilon=budget.epsilon,
        delta=budget.delta,
        found_delta_lower=lower,
        found_delta_upper=None if broken else _upper(worst.mu_square, claims, budget.epsilon),
        renyi_order=2.0,
        renyi_claimed=float(claims.square),
        renyi_found=float("inf") if worst.told_apart else float(worst.mu_square),
        certified=claims.certify(budget) and not broken,
        verdict=Verdict.violated if broken else Verdict.within,
        questions=len(claims.reaches),
        details={
            "exceeded": broken,
            "tables": len(told),
            "changes": n_changes,
            "reaches_claimed": [claims.changes * reach for reach in claims.reaches],
            "squares_found": farthest,
            "witness": [list(map(list, table)) for table in witness] if broken and witness else None,
        },
        adjacency=promise.adjacency,
        unit=promise.unit,
    )


def _depends(table: Table, told: dict[Table, ToldSums], *, per_record: bool) -> bool:
    """Say whether the sums of a table are others than what its units add one by one."""
    names = range(len(table)) if per_record else sorted({record[0] for record in table})
    mine = [
        told[tuple(record for row, record in enumerate(table) if (row if per_record else record[0]) == name)]
        for name in names
    ]
    whole = told[table].rounds
    parts = [[one.rounds[number] for one in mine] for number in range(len(whole))]
    return any(
        list(sums) != [sum(column) for column in zip(*own, strict=True)]
        for sums, own in zip(whole, parts, strict=True)
        if own
    )


def _is_as_priced(release: SumsRelease, claims: MomentSums) -> bool:
    """Say whether every number of every round gets a draw of its own, of the deviation that is paid for.

    The same coins are handed to the noise itself; what comes out of the release must be that, word by word.
    """
    sums = [_sums_of(np.arange(n, dtype=np.int64) << DEVIATION_BITS) for n in claims.entries]
    coins, found = SeededCoins(1), release(claims, sums, SeededCoins(1))
    for n, told in zip(claims.entries, found, strict=True):
        noisy = (np.arange(n, dtype=np.int64) << DEVIATION_BITS) + draw_gaussian(coins, n)
        if not np.array_equal(told * (1 << TOLD_BITS), noisy >> (DEVIATION_BITS - TOLD_BITS)):
            return False
    return True


def _sums_of(numbers: Integers) -> ExactSums:
    sums = ExactSums(len(numbers))
    sums.add(numbers)
    return sums


def _upper(square: Fraction, claims: MomentSums, epsilon: float) -> float:
    """Return delta of normal noise at the largest distance that was found, with what sampling costs."""
    extra = SAMPLING * sum(claims.entries)
    with ctx.workprec(PRECISION):
        return float((gaussian_curve(square, epsilon) + arb(extra)).upper()) if square else extra


def _bet(told: dict[Table, ToldSums], witness: tuple[Table, Table] | None, epsilon: float) -> float:
    """Return the delta of an adversary who weighs all told numbers by their differences, and bets beyond a place.

    Told numbers are rounded down, so that a weighted sum of them is known up to what `up` and `down` say.
    """
    if witness is None or not all(table in told for table in witness):
        return 0.0
    one, other = ([x for numbers in told[table].rounds for x in numbers] for table in witness)
    steps = [a - b for a, b in zip(one, other, strict=True)]
    if not any(steps):
        return 0.0
    with ctx.workprec(PRECISION):
        deviation, length = arb(1 << DEVIATION_BITS), arb(sum(step**2 for step in steps)).sqrt()
        up, down = (GRAIN * arb(sum(max(sign * step, 0) for step in steps)) / length for sign in (1, -1))
        middle = deviation**2 * arb(epsilon) / length
        found = [0.0]
        for place in PLACES:
            at = middle + place * deviation
            near = ((at - length / 2 + up) / (deviation * arb(2).sqrt())).erfc() / 2
            far = ((at + length / 2 - down) / (deviation * arb(2).sqrt())).erfc() / 2
            found.append(float((near - arb(epsilon).exp() * far).lower()))
        return max(found)
