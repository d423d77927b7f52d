"""The exact checker of noisy sums: the honest path passes, every broken one is caught, and why."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mapl.accounting.hockey_stick import gaussian_delta
from mapl.audit import Verdict
from mapl.audit.counts.tables import CellWorld, Table
from mapl.audit.moments.tables import WORLD, ToldSums, audit_sums
from mapl.audit.moments.twins import ENTRIES, SUMS_TWINS, examine_sums, path
from mapl.errors import InvalidParameter
from mapl.release.moment_sums import CHANGES, MomentSums
from mapl.release.statement.promise import Adjacency
from mapl.types import Budget

ADJACENCIES: tuple[Adjacency, ...] = ("add-remove", "replace-one", "labels")
OPENLY, MOVED, OTHERS = "what is told openly differs", "sensitivity", "what a unit adds depends on others"
NOISE, DELTA = "noise", "delta"
BUDGET = Budget(2.0, 1e-5)


def claims(adjacency: Adjacency = "add-remove", budget: Budget = BUDGET) -> MomentSums:
    return MomentSums.for_budget(budget, entries=ENTRIES, changes=CHANGES[adjacency])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_the_honest_path_is_within_its_claim(adjacency: Adjacency, epsilon: float) -> None:
    finding = examine_sums(Budget(epsilon, 1e-5), adjacency=adjacency)
    assert (finding.verdict, finding.certified, finding.details["exceeded"]) == (Verdict.within, True, [])
    assert finding.found_delta_upper is not None
    assert 0 <= finding.found_delta_lower < finding.found_delta_upper <= 1e-5
    assert (finding.found_delta_lower > 0) == (epsilon == 2)  # small steps drown in the rounding of what is told
    # Hardly any slack: the claimed lengths are reached, so that the checker is known to see them.
    assert finding.renyi_found == pytest.approx(finding.renyi_claimed, rel=0.02)
    assert (finding.details["tables"], finding.details["witness"]) == (1 + 12 + 144, None)
    assert "one person" in finding.adjacency


def test_people_with_more_records_change_nothing() -> None:
    world = CellWorld(points=(0.0, -1e300), most=3)
    finding = audit_sums(path(claims()), claims(), BUDGET, world=world)
    assert (finding.verdict, finding.details["tables"]) == (Verdict.within, 1 + 8 + 64 + 512)


@pytest.mark.parametrize(
    ("twin", "adjacency", "reasons"),
    [
        ("private-map", "add-remove", {OPENLY, OTHERS}),
        ("private-map", "replace-one", {OPENLY, OTHERS}),
        ("private-idf", "add-remove", {MOVED, OTHERS, DELTA}),
        ("clip-per-record", "add-remove", {MOVED, DELTA}),
        ("clip-per-record", "replace-one", {MOVED, DELTA}),
        ("clip-per-record", "labels", {MOVED, DELTA}),
        ("number-from-table", "add-remove", {MOVED, OTHERS, DELTA}),
        ("largest-norm", "add-remove", {MOVED, OTHERS, DELTA}),
        ("largest-norm", "labels", {MOVED, DELTA}),
        ("count-beside", "add-remove", {MOVED, DELTA}),
        ("nearest", "add-remove", {MOVED, DELTA}),
        ("rounds-as-one", "add-remove", {DELTA}),
        ("rounds-as-one", "replace-one", {DELTA}),
        ("same-noise", "add-remove", {NOISE}),
        ("half-noise", "add-remove", {NOISE}),
        ("bound-from-labels", "add-remove", {MOVED, OTHERS, DELTA}),
        ("uncut-numbers", "add-remove", {MOVED, DELTA}),
        ("uncut-numbers", "labels", {MOVED, DELTA}),
        ("squares-beside", "add-remove", {MOVED, DELTA}),
        ("records-apart", "add-remove", {DELTA}),
        ("records-apart", "replace-one", {DELTA}),
        ("records-apart", "labels", {DELTA}),
        ("rounds-by-row", "add-remove", {MOVED, OTHERS, DELTA}),
    ],
)
def test_twin_is_flagged(twin: str, adjacency: Adjacency, reasons: set[str]) -> None:
    finding = examine_sums(BUDGET, adjacency=adjacency, twin=twin)
    assert (finding.verdict, finding.certified, finding.found_delta_upper) == (Verdict.violated, False, None)
    assert set(finding.details["exceeded"]) == reasons
    assert (finding.found_delta_lower == 1) == (OPENLY in reasons)
    table, neighbour = finding.details["witness"]
    assert 1 <= max(len(table), len(neighbour)) <= WORLD.most


def test_every_mistake_is_tested_above() -> None:
    marks = test_twin_is_flagged.pytestmark[0]  # type: ignore[attr-defined]
    assert {case[0] for case in marks.args[1]} == set(SUMS_TWINS)


@pytest.mark.parametrize("twin", ["private-map", "private-idf"])
def test_what_labels_cannot_change_is_no_mistake_where_labels_alone_are_private(twin: str) -> None:
    assert examine_sums(BUDGET, adjacency="labels", twin=twin).verdict is Verdict.within


@pytest.mark.parametrize("adjacency", ["replace-one", "labels"])
def test_noise_for_one_contribution_does_not_hide_a_change(adjacency: Adjacency) -> None:
    once = claims("add-remove")
    finding = audit_sums(path(once), once, BUDGET, adjacency=adjacency)
    assert set(finding.details["exceeded"]) == {MOVED, DELTA}
    assert finding.found_delta_lower > BUDGET.delta


@pytest.mark.parametrize("adjacency", ["add-remove", "labels"])
def test_without_ids_every_record_is_a_unit(adjacency: Adjacency) -> None:
    from mapl.audit.moments.twins import every_record

    fitting = claims(adjacency)
    finding = audit_sums(path(fitting, add=every_record), fitting, BUDGET, adjacency=adjacency, unit=None)
    assert finding.verdict is Verdict.within
    assert "one record" in finding.unit


def test_one_step_too_far_is_seen() -> None:
    """A unit that moves one number by the reach is within the claim, by one step more it is not."""
    sums = replace(claims(), reaches=(claims().reaches[0],), entries=(1,))

    def moving(by: int) -> object:
        return lambda table: ToldSums(None, ((by * len({unit for unit, _, _ in table}),),))

    exact = audit_sums(moving(sums.reaches[0]), sums, BUDGET)  # type: ignore[arg-type]
    assert exact.verdict is Verdict.within
    assert exact.renyi_found == float(Fraction(sums.reaches[0] ** 2, 1 << 80))
    beyond = audit_sums(moving(sums.reaches[0] + 1), sums, BUDGET)  # type: ignore[arg-type]
    assert beyond.details["exceeded"] == [MOVED]


def test_how_many_units_there_are_may_be_told_only_where_it_is_public() -> None:
    def with_number(table: Table) -> ToldSums:
        told = path(claims())(table)
        return replace(told, openly=len({unit for unit, _, _ in table}))

    assert audit_sums(with_number, claims(), BUDGET).details["exceeded"] == [OPENLY]
    fitting = claims("replace-one")

    def with_public_number(table: Table) -> ToldSums:
        return replace(path(fitting)(table), openly=len({unit for unit, _, _ in table}))

    assert not audit_sums(with_public_number, fitting, BUDGET, adjacency="replace-one").violated


def test_the_bet_is_one_of_those_that_the_curve_bounds() -> None:
    finding = examine_sums(Budget(1.0, 1e-3), adjacency="add-remove")
    assert finding.renyi_found is not None
    assert finding.found_delta_upper == pytest.approx(gaussian_delta(np.sqrt(finding.renyi_found), 1.0), rel=1e-6)
    assert 0.2 * finding.found_delta_upper < finding.found_delta_lower < finding.found_delta_upper


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="takes at most 30"):
        examine_sums(Budget(31.0, 1e-5), adjacency="add-remove")
    with pytest.raises(InvalidParameter, match="needs a positive delta"):
        examine_sums(Budget(1.0, 0.0), adjacency="add-remove")
