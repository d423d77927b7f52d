"""The exact checker of noisy cell counts: the honest path passes, every broken one is caught, and why."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from mapl.audit import Verdict
from mapl.audit.counts.tables import (
    CellWorld,
    Table,
    Tabulate,
    ToldCounts,
    _measure,
    audit_cells,
    below_exp,
    neighbours,
)
from mapl.audit.counts.twins import (
    CELL_TWINS,
    CENTRES,
    KEY,
    SENSITIVITY,
    examine_counts,
    nearest,
    path,
    rows_of_units,
)
from mapl.data import Column, Schema, take
from mapl.data.cells.partition import KINDS, Cells, PartitionKind
from mapl.data.cells.space import CellSpace
from mapl.data.units.one_per_unit import one_per_unit, refuse_repeated
from mapl.data.units.row_digests import digests
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter
from mapl.noise import ONE
from mapl.release.cell_counts import CellCounts
from mapl.types import Adjacency

ADJACENCIES: tuple[Adjacency, ...] = ("add-remove", "replace-one", "labels")
OPENLY, MOVED, RATIO = "what is told openly differs", "sensitivity", "ratio of chances"


def claims(adjacency: Adjacency, epsilon: float = 1.0) -> CellCounts:
    return CellCounts(epsilon, len(CENTRES), 2, SENSITIVITY[adjacency])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0])
def test_the_honest_path_is_within_its_claim(adjacency: Adjacency, epsilon: float) -> None:
    finding = examine_counts(epsilon, 2, adjacency=adjacency)
    assert (finding.verdict, finding.certified, finding.violated) == (Verdict.within, True, False)
    assert (finding.epsilon, finding.delta, finding.found_delta_upper) == (epsilon, 0.0, 0.0)
    # No slack either: the claimed sensitivity and ratio are reached, so that the checker is known to see them.
    assert finding.details["sensitivity_found"] == SENSITIVITY[adjacency]
    assert finding.renyi_found == pytest.approx(epsilon, rel=1e-9)
    assert (finding.details["tables"], finding.details["witness"]) == (1 + 12 + 144 + 1728, None)
    assert "one person" in finding.adjacency


def real_path(kind: PartitionKind, *, one_each: bool = True) -> Tabulate:
    """From records to counts by the code of a run alone: space, cells, digests, one record per unit."""
    public = np.array([[0.0], [0.5], [1.0], [3.0], [4.0], [9.0]])
    space = CellSpace.fit(public, Schema((Column("x0", "number", centre=2, spread=1),)))
    cells = Cells.of_public(public, space, 3, kind=kind)

    def tabulate(table: Table) -> tuple[Hashable, Any]:
        rows = np.array([[point] for _, point, _ in table], dtype=np.float64).reshape(-1, 1)
        labels = np.array([label for _, _, label in table], dtype=np.int32)
        ids = [unit.encode() for unit, _, _ in table]
        contents = [digest for block in digests(rows, labels) for digest in block]
        chosen = np.arange(len(table))
        if one_each:
            chosen = one_per_unit(ids, contents, ShardKey(KEY))
            refuse_repeated(ids, chosen)
        return cells.n_cells, cells.counts(take(rows, chosen), labels[chosen], 2)

    return tabulate


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_of_a_run_is_within_its_claim(kind: PartitionKind) -> None:
    world = CellWorld(points=(0, 3))
    tabulate = cache(real_path(kind))
    counts = tabulate((("ann", 0, 1), ("bob", 3, 0), ("bob", 0, 0)))[1]
    assert counts.sum() == 2
    for adjacency in ADJACENCIES:
        finding = audit_cells(tabulate, claims(adjacency), adjacency=adjacency, world=world)
        assert finding.verdict is Verdict.within
        assert finding.details["sensitivity_found"] == SENSITIVITY[adjacency]
    # The control: counted on all records instead of one per person, the same cells are no promise to a person.
    assert audit_cells(cache(real_path(kind, one_each=False)), claims("add-remove"), world=world).violated


def test_more_units_and_more_classes_change_nothing() -> None:
    world = CellWorld(units=("ann", "bob", "cem"), points=(0, 3), labels=(0, 1, 2), most=2)
    assert audit_cells(path(3), CellCounts(0.5, len(CENTRES), 3), world=world).verdict is Verdict.within
    assert examine_counts(0.5, 3, adjacency="add-remove").verdict is Verdict.within


@pytest.mark.parametrize(
    ("twin", "adjacency", "reasons"),
    [
        ("private-cells", "add-remove", {OPENLY, RATIO}),
        ("private-cells", "replace-one", {OPENLY, RATIO}),
        ("hidden-empty-cells", "add-remove", {OPENLY, RATIO}),
        ("hidden-empty-cells", "replace-one", {OPENLY, RATIO}),
        ("merged-small-cells", "add-remove", {OPENLY, RATIO}),
        ("merged-small-cells", "replace-one", {OPENLY, RATIO}),
        ("every-cell", "add-remove", {MOVED, RATIO}),
        ("every-cell", "replace-one", {MOVED, RATIO}),
        ("every-cell", "labels", {MOVED, RATIO}),
        ("one-stream", "add-remove", {MOVED, RATIO}),
        ("one-stream", "replace-one", {MOVED, RATIO}),
        ("half-noise", "add-remove", {RATIO}),
        ("half-noise", "replace-one", {RATIO}),
        ("half-noise", "labels", {RATIO}),
    ],
)
def test_twin_is_flagged(twin: str, adjacency: Adjacency, reasons: set[str]) -> None:
    finding = examine_counts(1.0, 2, adjacency=adjacency, twin=twin)
    assert (finding.verdict, finding.certified) == (Verdict.violated, False)
    assert set(finding.details["exceeded"]) == reasons
    assert finding.found_delta_lower == 1 if OPENLY in reasons else 0.05 < finding.found_delta_lower < 1
    table, neighbour = finding.details["witness"]
    assert 1 <= max(len(table), len(neighbour)) <= 3


def test_every_mistake_is_tested_above() -> None:
    marks = test_twin_is_flagged.pytestmark[0]  # type: ignore[attr-defined]
    assert {case[0] for case in marks.args[1]} == set(CELL_TWINS)


@pytest.mark.parametrize("twin", ["private-cells", "one-stream"])
def test_what_labels_cannot_change_is_no_mistake_where_labels_alone_are_private(twin: str) -> None:
    assert examine_counts(1.0, 2, adjacency="labels", twin=twin).verdict is Verdict.within


def test_noise_for_sensitivity_one_does_not_hide_a_change() -> None:
    for adjacency in ("replace-one", "labels"):
        finding = audit_cells(path(2), CellCounts(1.0, 3, 2, sensitivity=1), adjacency=adjacency)
        assert finding.details["exceeded"] == [MOVED, RATIO]
        assert finding.renyi_found == pytest.approx(2.0)


@dataclass(frozen=True)
class Decay:
    """Two-sided geometric noise of any decay."""

    numerator: int

    def chance(self, noise: int) -> Fraction:
        a = Fraction(self.numerator, ONE)
        return (1 - a) / (1 + a) * a ** abs(noise)


def test_four_units_in_the_sixty_second_bit_are_seen() -> None:
    honest = claims("add-remove")
    assert not audit_cells(path(2), honest, noise=Decay(honest.numerator)).violated
    assert audit_cells(path(2), honest, noise=Decay(honest.numerator - 4)).details["exceeded"] == [RATIO]


def test_private_cells_are_caught_even_if_nobody_is_told_where_they_are() -> None:
    """The counts alone give them away: one record more moves the border, and others change sides."""

    def split_at_the_median(table: Table) -> tuple[None, Any]:
        border = float(np.median([record[1] for record in table])) if table else 0.0
        counts = np.zeros((3, 2), dtype=np.int64)
        for rows in rows_of_units(table):
            _, point, label = table[rows[0]]
            counts[int(point > border), label] += 1
        return None, counts

    finding = audit_cells(split_at_the_median, claims("add-remove"))
    assert finding.details["exceeded"] == [MOVED, RATIO]
    assert finding.details["sensitivity_found"] == 3


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_first_record_of_each_unit_is_as_private_as_any_other(adjacency: Adjacency) -> None:
    """A unit's own rows keep their order whatever others do, so its first one depends on nobody else.

    This is no reason to choose so: a sorted copy of the same table would be counted otherwise.
    """
    first = path(2, choose=lambda table, cells: [rows[0] for rows in rows_of_units(table)])
    assert audit_cells(first, claims(adjacency), adjacency=adjacency).verdict is Verdict.within
    one, other = ("ann", 0, 0), ("ann", 3, 0)
    assert first((one, other))[1].tolist() != first((other, one))[1].tolist()
    assert path(2)((one, other))[1].tolist() == path(2)((other, one))[1].tolist()


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_unit_may_count_by_an_aggregate_of_its_own_records(adjacency: Adjacency) -> None:
    def mean_and_last(table: Table) -> tuple[None, Any]:
        counts = np.zeros((3, 2), dtype=np.int64)
        for rows in rows_of_units(table):
            mine = [table[row] for row in rows]
            mean = sum(point for _, point, _ in mine) / len(mine)
            [cell] = nearest((("", mean, 0),), CENTRES)
            counts[cell, max(label for _, _, label in mine)] += 1
        return None, counts

    assert audit_cells(mean_and_last, claims(adjacency), adjacency=adjacency).verdict is Verdict.within


def test_how_many_units_there_are_may_be_told_only_where_it_is_public() -> None:
    def with_number(table: Table) -> tuple[int, Any]:
        return len(rows_of_units(table)), path(2)(table)[1]

    assert audit_cells(with_number, claims("add-remove")).details["exceeded"] == [OPENLY, RATIO]
    for adjacency in ("replace-one", "labels"):
        assert not audit_cells(with_number, claims(adjacency), adjacency=adjacency).violated


@pytest.mark.parametrize("adjacency", ["add-remove", "labels"])
def test_without_ids_every_record_counts(adjacency: Adjacency) -> None:
    every = path(2, choose=lambda table, cells: range(len(table)))
    finding = audit_cells(every, claims(adjacency), adjacency=adjacency, unit=None)
    assert finding.verdict is Verdict.within
    assert "one record" in finding.unit
    assert audit_cells(every, claims("add-remove")).violated  # a person with three records is not one record


def test_a_digest_of_the_content_is_no_id() -> None:
    """Two records of one digest, which rounds, but in two cells: the second takes the first one's place.

    So without ids no record may be left out for another one: one record more would change two counts.
    """
    border = 2 + 1 / 64
    world = CellWorld(units=("ann",), points=(border, border + 1e-8), labels=(0, 1), most=3)
    public = np.array([[2.0], [2.0 + 1 / 32]])
    cells = Cells.of_public(public, CellSpace.fit(public, Schema((Column("x0", "number", centre=2, spread=1),))), 2)

    def counted(table: Table, *, by_digest: bool) -> tuple[None, Any]:
        rows = np.array([[point] for _, point, _ in table], dtype=np.float64).reshape(-1, 1)
        labels = np.array([label for _, _, label in table], dtype=np.int32)
        ids = [digest for block in digests(rows, labels) for digest in block]
        chosen = one_per_unit(ids, ids, ShardKey(KEY)) if by_digest else np.arange(len(table))
        return None, cells.counts(take(rows, chosen), labels[chosen], 2)

    claimed = CellCounts(1.0, 2, 2)
    assert not audit_cells(partial(counted, by_digest=False), claimed, unit=None, world=world).violated
    broken = audit_cells(partial(counted, by_digest=True), claimed, unit=None, world=world)
    assert broken.details["exceeded"] == [MOVED, RATIO]


def test_replaced_records_need_ids() -> None:
    with pytest.raises(InvalidParameter, match="needs a column of ids"):
        audit_cells(path(2), claims("replace-one"), adjacency="replace-one", unit=None)


# Two rounds: the cells of the second are a function of what the first released or, in the twin, of true counts.


def second_round(released: tuple[int, ...] | None) -> Any:
    def centres_of(table: Table) -> tuple[float, ...]:
        counts = released or path(2)(table)[1].sum(axis=1).tolist()
        return tuple(c + (0.5 if n > 1 else 0.0) for c, n in zip(CENTRES, counts, strict=True))

    return path(2, centres_of=centres_of)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_second_round_costs_its_own_epsilon_whatever_the_first_released(adjacency: Adjacency) -> None:
    """Given the first release, the second one is a table on public cells; the ratios of both multiply."""
    rounds = [claims(adjacency, 0.25), claims(adjacency, 0.75)]
    first = audit_cells(path(2), rounds[0], adjacency=adjacency)
    seconds = [
        audit_cells(second_round(released), rounds[1], adjacency=adjacency)
        for released in product((-1, 2), repeat=3)
    ]
    assert not any(finding.violated for finding in (first, *seconds))
    assert max(first.renyi_found + second.renyi_found for second in seconds) <= 1 + 1e-9  # type: ignore[operator]


def test_a_second_round_on_cells_from_true_counts_is_caught() -> None:
    finding = audit_cells(second_round(None), claims("add-remove", 0.75))
    assert OPENLY in finding.details["exceeded"]


# The checker itself.


def test_neighbours_are_those_of_the_definition() -> None:
    """Against a search through all pairs of tables, by definitions written down another way."""
    world = CellWorld(units=("ann", "bob"), points=(0, 1), labels=(0, 1), most=2)
    told = {table: ToldCounts(table, ()) for table in world.tables()}

    def without(table: Table, unit: str) -> Table:
        return tuple(record for record in table if record[0] != unit)

    def are(one: Table, other: Table, adjacency: Adjacency) -> bool:
        for unit in world.units:
            own = [[r for r in table if r[0] == unit] for table in (one, other)]
            if adjacency == "labels":
                same = [[(u, x, y if u != unit else 0) for u, x, y in table] for table in (one, other)]
                if own[0] and same[0] == same[1]:
                    return True
            elif without(one, unit) == without(other, unit) and (
                bool(own[0]) != bool(own[1]) if adjacency == "add-remove" else own[0] and own[1]
            ):
                return True
        return False

    for adjacency in ADJACENCIES:
        found = {
            frozenset((table, neighbour))
            for _, some in neighbours(told, adjacency)
            for (_, table), (_, neighbour) in some
        }
        expected = {frozenset(two) for two in combinations(told, 2) if are(*two, adjacency)}
        assert found == expected
        # Rows that change places can be ann's doing or bob's, so some pairs are counted for both.
        assert len(expected) <= sum(number for number, _ in neighbours(told, adjacency)) <= 1.1 * len(expected)


def test_the_largest_ratio_is_that_of_all_joint_outcomes() -> None:
    """Against an enumeration of outcomes of three counts, and the adversary's delta against their sum."""
    noise, bound = claims("add-remove", 0.8), below_exp(0.3)
    measure = _measure(noise, bound, 3)
    for steps in ((1, 0, 0), (2, -1, 0), (1, 1, -1)):
        gap = measure(ToldCounts(None, (5, 5, 5)), ToldCounts(None, tuple(5 - step for step in steps)))
        outcomes = [[(noise.chance(k), noise.chance(k + step)) for k in range(-10, 11)] for step in steps if step]
        pairs = [(math.prod(p), math.prod(q)) for p, q in (zip(*some, strict=True) for some in product(*outcomes))]
        assert gap.ratio == max(p / q for p, q in pairs)
        assert gap.moved == sum(map(abs, steps))
        best = float(sum(max(Fraction(0), p - bound * q) for p, q in pairs))
        assert 0 < gap.delta <= best + 1e-3  # what lies beyond the enumerated outcomes
    assert measure(ToldCounts(None, (5, 5)), ToldCounts(None, (5, 5))).ratio == 1


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 7.5, 30.0])
def test_the_bound_is_below_the_exponential_and_hardly(epsilon: float) -> None:
    bound = below_exp(epsilon)
    with ctx.workprec(400):
        exact = arb(epsilon).exp()
        bounded = arb(bound.numerator) / arb(bound.denominator)
        assert bool(bounded <= exact)
        assert bool(bounded > exact * (1 - arb(2) ** -100))


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="takes at most 30"):
        audit_cells(path(2), replace(claims("add-remove"), epsilon=31.0))
    with pytest.raises(InvalidParameter, match="Audit fewer classes"):
        examine_counts(1.0, 9, adjacency="add-remove")
    with pytest.raises(InvalidParameter, match="has no twin softmax; it has: private-cells"):
        examine_counts(1.0, 2, adjacency="add-remove", twin="softmax")
    with pytest.raises(InvalidParameter, match="The adjacency is 'teachers'"):
        examine_counts(1.0, 2, adjacency="teachers")  # type: ignore[arg-type]
