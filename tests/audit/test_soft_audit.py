"""The exact adversary against soft labels, and the broken twins that it has to find."""

from __future__ import annotations

from typing import Any

import pytest

from mapl.audit.soft.labels import audit_means, audit_medians, in_coarse_steps
from mapl.audit.soft.shares import audit_shares, changes
from mapl.audit.soft.twins import (
    half_sensitivity,
    lead_for_distance,
    no_balance,
    no_clipping,
    one_share_moves,
    one_side_for_distance,
)
from mapl.mechanisms import Task, make
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.types import Budget

BUDGET = Budget(2.0, 1e-5)
LADDER = make("ladder", Task(BUDGET, 80, 2, 20), max_abstentions=2)
MEANS = in_coarse_steps(NoisyMean.for_budget(BUDGET, 300, max_answers=6, high=500), 3, 3)


@pytest.mark.parametrize("n_cells", [2, 3])
def test_medians_keep_their_claim(n_cells: int) -> None:
    finding = audit_medians(LADDER, BUDGET, n_teachers=80, n_cells=n_cells, questions=12)
    assert finding.verdict.value == "within the claim"
    assert finding.found_delta_upper is not None
    assert 1e-6 < finding.found_delta_lower <= finding.found_delta_upper <= 1e-5


@pytest.mark.parametrize("twin", [lead_for_distance, one_side_for_distance])
def test_medians_without_their_exact_distance_are_found(twin: Any) -> None:
    finding = audit_medians(LADDER, BUDGET, n_teachers=80, questions=12, law=twin(LADDER))
    assert finding.violated
    assert {"delta", "Renyi divergence", "chance of an impossible answer"} <= set(finding.details["exceeded"])
    assert finding.found_delta_lower > 100 * BUDGET.delta


def test_means_keep_their_claim_and_use_nearly_all_of_it() -> None:
    finding = audit_means(MEANS, BUDGET)
    assert not finding.violated
    assert 0.95e-5 < finding.found_delta_lower <= 1e-5
    assert finding.found_delta_upper is not None
    assert finding.found_delta_upper < 1.02e-5  # the grid's chords lie a little above the exact figure


@pytest.mark.parametrize("twin", [half_sensitivity, no_clipping])
def test_means_with_too_little_noise_are_found(twin: Any) -> None:
    finding = audit_means(MEANS, BUDGET, law=twin(MEANS))
    assert finding.violated
    assert {"delta", "Renyi divergence"} <= set(finding.details["exceeded"])
    assert finding.found_delta_lower > 1000 * BUDGET.delta


def test_coarse_steps_have_the_same_price() -> None:
    fine = NoisyMean.for_budget(BUDGET, 300, max_answers=6)
    assert in_coarse_steps(fine, 3, 5).epsilon(None, 1e-5) == pytest.approx(fine.epsilon(None, 1e-5), rel=1e-9)


SHARES = in_coarse_steps(NoisyShares.for_questions(BUDGET, 300, n_questions=6, n_shares=3), 2, 3)


def test_changes_of_shares_are_no_longer_than_is_paid_for() -> None:
    assert max(sum(step**2 for step in change) for change in changes(SHARES)) == 2 * SHARES.grain**2
    assert (-1, -1, 2) in changes(SHARES)


def test_shares_keep_their_claim_and_use_nearly_all_of_it() -> None:
    finding = audit_shares(SHARES, BUDGET)
    assert not finding.violated
    assert 0.95e-5 < finding.found_delta_lower <= 1e-5


@pytest.mark.parametrize("twin", [one_share_moves, no_balance])
def test_shares_that_move_further_are_found(twin: Any) -> None:
    finding = audit_shares(SHARES, BUDGET, law=twin(SHARES))
    assert finding.violated
    assert {"delta", "Renyi divergence"} <= set(finding.details["exceeded"])
    assert finding.found_delta_lower > 10 * BUDGET.delta
