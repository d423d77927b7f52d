"""Padded stumps on every small sample: the theorem in fractions, the integers of the code, every broken twin."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from mapl.audit import Verdict
from mapl.audit.counts.tables import below_exp
from mapl.audit.predictions.samples import ADJACENCY, PredictorLaw, Sample, SampleWorld, audit_predictor
from mapl.audit.predictions.stump_twins import (
    STUMP_TWINS,
    claimed_odds,
    claimed_ratio,
    exact_law,
    examine_exact_stumps,
)
from mapl.errors import InvalidParameter
from mapl.noise import ONE
from mapl.prediction.predictors.padded_stumps import PaddedStumps
from mapl.prediction.prices.padded_stumps import SLACK, epsilon_of, span_of
from mapl.types import RecordAdjacency

WORLDS = {
    "three values": SampleWorld(most=4),
    "many ties": SampleWorld(values=(0.0, 1.0), asked=(-1.0, 0.0, 0.5, 1.0, 2.0), most=9),
    "strange values": SampleWorld(
        values=(-math.inf, 0.0, math.nan), asked=(-math.inf, -1.0, 0.0, math.inf, math.nan), most=4
    ),
    "two features": SampleWorld(values=(0.0, 1.0), asked=(-1.0, 0.0, 1.0), n_features=2, most=3),
}
Q = Fraction(3, 5)
BOTH: tuple[RecordAdjacency, ...] = ("add-remove", "replace-one")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("q", [Fraction(1, 5), Q, Fraction(9, 10)])
def test_the_theorem_holds_for_all_small_samples(world: str, adjacency: RecordAdjacency, q: Fraction) -> None:
    finding = examine_exact_stumps(q, adjacency=adjacency, world=WORLDS[world])
    assert finding.verdict is Verdict.within
    assert (finding.adjacency, finding.delta) == (ADJACENCY[adjacency], 0.0)
    # No slack in the span: the first records of an empty sample reach it.
    assert finding.details["log_odds_found"] == pytest.approx(math.log(claimed_odds(q, adjacency)))


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_epsilon_is_reached(adjacency: RecordAdjacency) -> None:
    finding = examine_exact_stumps(Fraction(1, 5), adjacency=adjacency, world=WORLDS["many ties"])
    assert finding.renyi_found == pytest.approx(finding.epsilon, rel=1e-4)


@pytest.mark.parametrize("twin", STUMP_TWINS)
def test_every_twin_is_caught_by_its_chances(twin: str) -> None:
    finding = examine_exact_stumps(Q, twin=twin, world=WORLDS["many ties"])
    assert finding.violated
    assert "ratio of chances" in finding.details["exceeded"]
    assert finding.found_delta_lower > 0
    one, other, _, _ = finding.details["witness"]
    assert abs(len(one) - len(other)) == 1


@pytest.mark.parametrize("twin", ["left-end", "right-end"])
def test_a_gap_on_one_side_costs_two_rates(twin: str) -> None:
    """What was known before: within 2a and 3a, but not within the claim for halves."""
    world = WORLDS["many ties"]
    law = exact_law(world, Q, **STUMP_TWINS[twin].steps)
    for adjacency, bound in (("add-remove", Q**-2), ("replace-one", Q**-3)):
        finding = audit_predictor(law, math.log(bound), name=twin, bound=bound, adjacency=adjacency, world=world)
        assert not finding.violated, adjacency


def test_a_wandering_end_costs_more_than_two_rates() -> None:
    world = WORLDS["many ties"]
    law = exact_law(world, Q, **STUMP_TWINS["wandering-end"].steps)
    assert audit_predictor(law, math.log(Q**-2), name="wandering-end", bound=Q**-2, world=world).violated


def by_code(world: SampleWorld, rate: float, adjacency: RecordAdjacency) -> PredictorLaw:
    """Return the law of the code itself: integers over 2^62, the very ones that coins are compared with."""
    questions = np.array(world.questions)

    @cache
    def law(sample: Sample) -> list[Fraction]:
        X = np.array([x for x, _ in sample], dtype=np.float64).reshape(len(sample), world.n_features)
        stumps = PaddedStumps.at_rate(X, np.array([y for _, y in sample]), rate=rate, adjacency=adjacency)
        return [Fraction(int(h), ONE) for h in stumps.numerators(questions)]

    return law


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("rate", [0.05, 1.6, 12.0])
def test_the_codes_integers_are_within_the_printed_epsilon(
    world: str, adjacency: RecordAdjacency, rate: float
) -> None:
    finding = audit_predictor(
        by_code(WORLDS[world], rate, adjacency),
        epsilon_of(rate, adjacency=adjacency),
        name="padded-stumps",
        odds=below_exp(span_of(rate, adjacency=adjacency)),
        adjacency=adjacency,
        world=WORLDS[world],
    )
    assert finding.verdict is Verdict.within
    assert finding.renyi_found is not None
    if (world, rate) == ("many ties", 1.6):
        assert finding.renyi_found > 0.999 * finding.epsilon - SLACK, "the checker sees what is claimed"


def test_the_code_at_a_higher_rate_than_claimed_is_caught() -> None:
    law = by_code(WORLDS["many ties"], 1.61, "add-remove")
    claimed = epsilon_of(1.6, adjacency="add-remove")
    assert audit_predictor(law, claimed, name="padded-stumps", world=WORLDS["many ties"]).violated


def test_a_predictor_that_is_certain_is_caught_at_any_epsilon() -> None:
    def majority(sample: Sample) -> list[Fraction]:
        return [Fraction(2 * sum(y for _, y in sample) > len(sample))] * len(SampleWorld().questions)

    finding = audit_predictor(majority, 30.0, name="majority", world=SampleWorld(most=2))
    assert (finding.violated, finding.renyi_found, finding.found_delta_lower) == (True, math.inf, 1.0)


def test_what_is_claimed_of_replaced_records_is_not_for_less() -> None:
    once, replaced = claimed_ratio(Q, "add-remove"), claimed_ratio(Q, "replace-one")
    world = WORLDS["many ties"]
    law = exact_law(world, Q)
    finding = audit_predictor(law, math.log(once), name="x", bound=once, adjacency="replace-one", world=world)
    assert (finding.violated, replaced > once) == (True, True)


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="has no twin nobody; it has: no-pads"):
        examine_exact_stumps(Q, twin="nobody")
    with pytest.raises(InvalidParameter, match="samples of up to 50 records"):
        examine_exact_stumps(Q, world=SampleWorld(most=50))
    with pytest.raises(InvalidParameter, match="adjacency is 'labels'; choose add-remove or replace-one"):
        audit_predictor(lambda _: [], 1.0, name="x", adjacency="labels")  # type: ignore[arg-type]
