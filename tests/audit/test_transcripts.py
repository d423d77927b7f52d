"""Secret thresholds: joint laws against direct sums, the notes' counterexample, upper against lower bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from mapl.audit.votes.coupled import coupled_delta, different_winner
from mapl.audit.votes.limits import limits_of
from mapl.audit.votes.secrets import Secrets, secrets_of
from mapl.audit.votes.transcripts import Menu, best_adaptive, block_strategies, hockey_stick, moment, play
from mapl.mechanisms import Task, make
from mapl.mechanisms.mechanism import by_label
from mapl.mechanisms.papers.sparse_vector import tail
from mapl.mechanisms.tables.noise_law import above, masses
from mapl.noise import discrete_laplace
from mapl.types import Budget, Floats, Secret, State, Tallies


@dataclass(frozen=True)
class LaplaceThreshold:
    """Candidate C of the theory notes: one Laplace threshold for the whole run, Laplace noise on distances."""

    threshold_scale: float
    question_scale: float
    centre: int

    def secrets(self) -> Secrets:
        table = discrete_laplace(self.threshold_scale)
        noise = np.arange(-table.half_width, table.half_width + 1)
        return Secrets(tuple((self.centre + noise).tolist()), masses(table), refreshed=False, is_threshold=True)

    def chances(self, block: Tallies, state: State) -> Floats:
        assert state.secret is not None
        passing = above(discrete_laplace(self.question_scale), state.secret.value - block.distances)
        return by_label(block.values, passing, block.n_classes)


def test_the_counterexample_of_the_theory_notes() -> None:
    """T = 1, order 40: four times (4, 3), then sixteen times (3, 4), reaches 4.4476, above the broken 4.4059."""
    law = LaplaceThreshold(2.0, 0.5, 3)
    secrets = law.secrets()
    rows = np.array([[3, 10], [2, 11]])  # distances 3 and 4 of 13 teachers
    assert Tallies(rows).distances.tolist() == [3, 4]
    laws = secrets.laws(law, rows)  # type: ignore[arg-type]
    menu = Menu(secrets, laws[[1, 0]], laws[[0, 1]], ("(4, 3)", "(3, 4)"), 1, 1)
    run = play(menu, [0] * 4 + [1] * 16)
    assert run.p.sum() == pytest.approx(1, abs=1e-12)
    assert run.q.sum() == pytest.approx(1, abs=1e-12)
    assert math.log(float(moment(40.0)(run.p, run.q).sum())) / 39 == pytest.approx(4.4476, abs=5e-5)


def test_transcripts_of_a_sparse_vector_by_direct_summation() -> None:
    budget = Budget(4.0, 1e-2)
    mechanism = make("stable-queries", Task(budget, 40, 2, 5), max_abstentions=2)
    secrets = secrets_of(mechanism)
    assert secrets is not None
    rows = np.array([[14, 26], [13, 27]])
    laws = secrets.laws(mechanism, rows)
    menu = Menu(secrets, laws[[0]], laws[[1]], ("",), 1, 2)
    exact = 0.0
    for transcript in product((False, True), repeat=3):  # abstains?
        sides = []
        for side in (0, 1):
            total, vector = 1.0, secrets.weights
            abstained = 0
            for abstains in transcript:
                if abstained == 2:
                    break
                vector = vector * laws[side][:, 2 if abstains else 1]
                if abstains:
                    total, vector, abstained = total * vector.sum(), secrets.weights, abstained + 1
            sides.append(total * vector.sum() if abstained < 2 else total)
        # Transcripts that halt at the second abstention are met twice, once for each word never read.
        halts_early = transcript[:2] == (True, True)
        exact += max(sides[0] - math.exp(0.2) * sides[1], 0.0) / (2 if halts_early else 1)
    assert best_adaptive(menu, 3, hockey_stick(0.2)) == pytest.approx(exact, rel=1e-9)


def test_the_average_over_thresholds_is_the_law_of_the_first_question() -> None:
    for name in ("threshold-ladder", "btt18"):
        mechanism = make(name, Task(Budget(3.0, 1e-4), 300, 2, 10), max_abstentions=2)
        secrets = secrets_of(mechanism)
        assert secrets is not None
        rows = np.array([[150, 150], [120, 180], [60, 240], [0, 300]])
        averaged = np.einsum("s,hso->ho", secrets.weights, secrets.laws(mechanism, rows))
        assert averaged == pytest.approx(mechanism.chances(Tallies(rows), State()), abs=1e-10)


def test_longer_play_never_finds_less() -> None:
    mechanism = make("threshold-ladder", Task(Budget(2.0, 1e-5), 80, 2, 20), max_abstentions=2)
    secrets = secrets_of(mechanism)
    assert secrets is not None
    menu = Menu.of(mechanism, secrets, 80, 2)
    found = [best_adaptive(menu, questions, moment(8.0)) for questions in (1, 2, 3)]
    assert 1 < found[0] < found[1] < found[2]
    runs = block_strategies(menu, 10)
    assert all(run.p.sum() == pytest.approx(1, abs=1e-9) for run in runs)


@pytest.mark.parametrize("name", ["threshold-ladder", "stable-queries"])
def test_revealing_the_threshold_bounds_every_strategy(name: str) -> None:
    budget = Budget(3.0, 1e-3)
    mechanism = make(name, Task(budget, 80, 2, 8), max_abstentions=2)
    secrets = secrets_of(mechanism)
    assert secrets is not None
    menu = Menu.of(mechanism, secrets, 80, 2)
    for epsilon in (0.1, 0.5, 1.0):
        upper = coupled_delta(mechanism, secrets, 80, 2, 8, Budget(epsilon, 1e-3))
        lower = best_adaptive(menu, 3, hockey_stick(epsilon))
        assert lower <= upper
        assert upper < 1


def test_a_different_winner_passes_as_rarely_as_the_proof_says() -> None:
    budget = Budget(2.0, 1e-5)
    sparse = make("stable-queries", Task(budget, 60, 2, 8), max_abstentions=3)
    secrets = secrets_of(sparse)
    assert secrets is not None
    chance = different_winner(sparse, secrets, 60, 3)
    assert chance == pytest.approx(3 * tail(sparse.threshold, sparse.scale), rel=1e-9)
    ladder = make("threshold-ladder", Task(budget, 60, 2, 8), max_abstentions=3)
    thresholds = secrets_of(ladder)
    assert thresholds is not None
    assert 0 < different_winner(ladder, thresholds, 60, 3) <= ladder.threshold_loss.delta


def test_limits_and_secrets_survive_a_restart_of_the_question() -> None:
    mechanism = make("threshold-ladder", Task(Budget(2.0, 1e-5), 80, 2, 20), max_abstentions=2)
    assert limits_of(mechanism, 80, 2, 20).abstentions == 2
    secrets = secrets_of(mechanism)
    assert secrets is not None
    assert secrets.unlisted < 1e-9
    low = mechanism.chances(Tallies(np.array([[30, 50]])), State(secret=Secret(min(secrets.values))))
    high = mechanism.chances(Tallies(np.array([[30, 50]])), State(secret=Secret(max(secrets.values))))
    assert low[0, 1] > high[0, 1] == 0
