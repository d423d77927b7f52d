"""Releasing soft labels: medians, means, means for what medians refuse; recorded before they are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mapl.errors import BudgetExhausted, InvalidParameter, PlanMismatch
from mapl.mechanisms import Task, make
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.mechanisms.scores.scores import TOP, ScoreGrid, Scores
from mapl.mechanisms.scores.shares import Shares
from mapl.noise import SeededCoins, SystemCoins
from mapl.release import Limits, MemoryLedger
from mapl.release.ledger.chain import HALTED, Entry
from mapl.release.ledger.ledger import Ledger
from mapl.release.ledger.limits import Limit
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.release.soft_labels import MEANS, MEDIANS, SoftDesign, SoftLabels, release_soft_labels
from mapl.release.statement.promise import TEACHER_PROMISE
from mapl.release.statement.soft_statement import state_soft_labels
from mapl.types import ABSTAIN, Budget

K, M, T = 300, 60, 4
HALF = Budget(2.0, 5e-6)
TASK = Task(HALF, K, 2, M)
LADDER = make("ladder", TASK, max_abstentions=T)
GRID = ScoreGrid(501, 1)


def means(n: int) -> NoisyMean:
    return NoisyMean.for_budget(HALF, K, max_answers=n)


def scores(torn: int = 0) -> Scores:
    """Everybody is sure of the second class, but on the first `torn` questions half says the opposite."""
    marks = np.full((M, K), 900)
    marks[:torn, ::2] = 100
    return Scores.checked(marks)


def opened(design: SoftDesign, ledger: Ledger | None = None) -> Ledger:
    found = MemoryLedger() if ledger is None else ledger
    limits = {}
    if design.medians is not None:
        limits[MEDIANS] = Limit.of(design.medians.parameters, M)
    if design.means is not None:
        limits[MEANS] = Limit.of(design.means.parameters, M)
    found.open("a plan", Limits.of(limits))
    return found


def released(design: SoftDesign, given: Scores, ledger: Ledger | None = None, seed: int = 1) -> SoftLabels:
    return release_soft_labels(design, given, SeededCoins(seed), ledger=opened(design, ledger))


def test_medians_tell_the_middle_of_the_median_s_cell() -> None:
    told = released(SoftDesign(LADDER, GRID), scores())
    assert np.allclose(told.values, 0.75)
    assert (told.labels == 1).all()
    assert not told.means.any()
    assert told.released().fallback is None
    assert told.state.answered == M


def test_means_tell_the_mean_score() -> None:
    told = released(SoftDesign(means=means(M)), scores())
    assert told.values.mean() == pytest.approx(0.9, abs=0.05)
    assert np.allclose(told.spreads, means(M).deviation)
    assert told.values.std() == pytest.approx(means(M).deviation, rel=0.4)
    assert told.means.all()


def test_means_answer_what_medians_refuse_and_nothing_else() -> None:
    design = SoftDesign(LADDER, GRID, means(T))
    ledger = opened(design)
    told = release_soft_labels(design, scores(torn=3), SeededCoins(1), ledger=ledger)
    assert told.means[:3].all()
    assert not told.means[4:].all()
    assert told.answered.all()
    assert told.values[:3].mean() == pytest.approx(0.5, abs=0.1)
    refused = int(told.means.sum())
    counted = {record.stage: record for record in ledger.entries()}
    assert counted[MEDIANS].all_abstained == refused
    assert counted[MEANS].all_answered == refused
    assert told.released().fallback is not None


def test_a_run_ends_with_the_last_refusal() -> None:
    told = released(SoftDesign(LADDER, GRID, means(T)), scores(torn=M))
    assert len(told.values) == T
    assert told.answered.all()
    assert told.released().not_asked == M - T
    only = released(SoftDesign(LADDER, GRID), scores(torn=M))
    assert (only.labels == ABSTAIN).all()
    assert len(only.values) == T
    assert np.isnan(only.values).all()


def test_nothing_refused_leaves_the_second_stage_unspent() -> None:
    design = SoftDesign(LADDER, GRID, means(T))
    ledger = opened(design)
    told = release_soft_labels(design, scores(), SeededCoins(2), ledger=ledger)
    if not told.means.any():
        assert {record.stage for record in ledger.entries()} == {"", MEDIANS}
        assert told.state.answered == 0


@pytest.mark.parametrize("design", [SoftDesign(LADDER, GRID), SoftDesign(means=means(M))])
def test_replays_bit_by_bit_from_a_seed(design: SoftDesign) -> None:
    one, two, other = (released(design, scores(torn=2), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.values, two.values, equal_nan=True)
    if design.means is not None:
        assert not np.array_equal(one.values, other.values)


def test_a_resumed_run_is_told_what_was_published(tmp_path: Path) -> None:
    design = SoftDesign(LADDER, GRID, means(T))
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        first = released(design, scores(torn=3), ledger)
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        again = released(design, scores(torn=3), ledger, seed=99)
        ledger.verify()
    assert np.array_equal(first.values, again.values, equal_nan=True)


def test_a_run_killed_between_the_stages_goes_on(tmp_path: Path) -> None:
    design = SoftDesign(LADDER, GRID, means(T))
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        opened(design, ledger)
        begun = release_soft_labels(replace(design, means=None), scores(torn=3), SeededCoins(1), ledger=ledger)
    with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
        whole = released(design, scores(torn=3), ledger, seed=99)
    assert np.array_equal(begun.values[~whole.means], whole.values[~whole.means], equal_nan=True)
    assert whole.answered.all()


def test_a_ledger_lets_no_stage_spend_more_than_planned() -> None:
    design = SoftDesign(means=means(M))
    ledger = opened(design)
    release_soft_labels(design, scores(), SeededCoins(1), ledger=ledger)
    with pytest.raises(BudgetExhausted):
        ledger.append(Entry(HALTED, MEANS, answered=1))
    with pytest.raises(PlanMismatch):
        release_soft_labels(SoftDesign(means=means(M + 1)), scores(), SeededCoins(1), ledger=ledger)


def test_statement_adds_the_stages_up() -> None:
    design = SoftDesign(LADDER, GRID, means(T))
    ledger = opened(design)
    told = release_soft_labels(design, scores(torn=3), SystemCoins(), ledger=ledger)
    said = state_soft_labels(
        design, TASK, {MEDIANS: HALF, MEANS: HALF}, told, SystemCoins(), promise=TEACHER_PROMISE
    )
    assert [stage.name for stage in said.stages] == [MEDIANS, MEANS]
    assert 3.99 < said.guaranteed_epsilon <= 4.0
    assert said.epsilon <= said.guaranteed_epsilon
    assert said.delta == 1e-5
    assert said.private
    assert "scores of models" in said.in_plain_words
    assert "of their rounded median, or of their sum with random noise." in said.in_plain_words
    assert (said.answered, said.abstained) == (M, 0)
    seeded = state_soft_labels(
        design, TASK, {MEDIANS: HALF, MEANS: HALF}, told, SeededCoins(1), promise=TEACHER_PROMISE
    )
    assert not seeded.private
    assert "NOT PRIVATE" in seeded.in_plain_words


def test_the_words_speak_of_what_was_released_alone() -> None:
    of_three = NoisyShares.for_questions(HALF, K, n_questions=M, n_shares=3)
    thirds = Shares.checked(np.full((M, K, 3), (334, 333, 333)))
    for design, given, words, not_these in (
        (SoftDesign(LADDER, GRID), scores(), "of their rounded median.", "sum"),
        (SoftDesign(means=means(M)), scores(), "of their sum with random noise.", "median"),
        (SoftDesign(means=of_three), thirds, "for every class, of the sum", "median"),
    ):
        told, budgets = released(design, given), {MEDIANS: HALF, MEANS: HALF}
        said = state_soft_labels(design, TASK, budgets, told, SystemCoins(), promise=TEACHER_PROMISE)
        first = said.in_plain_words.partition("Whatever")[0]
        assert words in first
        assert not_these not in first


def test_a_design_needs_something_to_release() -> None:
    for parts in ((None, None, None), (LADDER, None, None), (None, GRID, means(M))):
        with pytest.raises(InvalidParameter, match="Soft labels need"):
            SoftDesign(*parts)


def test_shifted_cells_lie_around_the_median() -> None:
    told = released(SoftDesign(LADDER, ScoreGrid(200)), Scores.checked(np.full((M, K), 437)))
    assert np.abs(told.values - 0.437).max() <= 0.1
    assert len(np.unique(told.values)) > 20
    assert told.values.mean() == pytest.approx(437 / TOP, abs=0.02)
