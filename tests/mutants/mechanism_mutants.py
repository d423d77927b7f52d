"""Mutants of the mechanisms: certificates, thresholds, limits and prices."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="certificate-in-one-order",
        breaks="The ladder's certificate checks the inequality for neighbours in one order only.",
        file="mechanisms/votes/ladder.py",
        old="steps + [(j, i) for i, j in steps], self.order, self.price)",
        new="steps, self.order, self.price)",
        killers=(
            "tests/mechanisms/test_ladder.py::test_calibrated_ladders_are_certified_and_their_broken_twins_are_not",
        ),
    ),
    Mutant(
        name="exact-certificate-skipped",
        breaks="Tables pass their exact certificate whatever is in them.",
        file="mechanisms/tables/rungs.py",
        old="        return bool(total <= 1)",
        new="        return True",
        killers=("tests/mechanisms/test_rungs.py::test_the_certificate_is_sharp_to_the_last_integer",),
    ),
    Mutant(
        name="inequality-turned-around",
        breaks="The exact certificate has the two neighbours' roles exchanged.",
        file="mechanisms/tables/rungs.py",
        old="total += (order * p + (1 - order) * q - cost).exp()",
        new="total += (order * q + (1 - order) * p - cost).exp()",
        killers=("tests/mechanisms/test_threshold_ladder.py::TestReferences::test_distances_of_the_notes",),
    ),
    Mutant(
        name="halts-one-too-late",
        breaks="A run halts after one abstention more than it was priced for.",
        file="mechanisms/mechanism.py",
        old="left = max_abstentions - state.abstained",
        new="left = max_abstentions + 1 - state.abstained",
        killers=("tests/mechanisms/test_ladder.py::test_a_run_halts_right_after_the_last_allowed_abstention",),
    ),
    Mutant(
        name="abstention-not-charged",
        breaks="The ladder charges answers, which are free, instead of abstentions.",
        file="mechanisms/votes/ladder.py",
        old="return self.per_abstention * state.abstained + self.failure",
        new="return self.per_abstention * 0 + self.failure",
        killers=("tests/mechanisms/test_ladder.py::test_spending_grows_with_abstentions_only",),
    ),
    Mutant(
        name="ladder-delta-not-charged",
        breaks="The chance that a question with two winners passes is not part of the ladder's delta.",
        file="mechanisms/votes/ladder.py",
        old="delta = int(self.rungs.numerators[0]) * self.max_abstentions / ONE * (1 + 1e-15)",
        new="delta = 0.0",
        killers=("tests/mechanisms/test_ladder.py::test_the_whole_run_stays_within_the_budget",),
    ),
    Mutant(
        name="threshold-reused",
        breaks="The sparse vector keeps its threshold after an abstention.",
        file="mechanisms/papers/sparse_vector.py",
        old="threshold = None if last else self.noisy_threshold(coins)",
        new="threshold = None if last else threshold",
        killers=(
            "tests/mechanisms/test_sparse_vector.py::TestRelease::test_the_threshold_lives_exactly_until_an_abstention",
        ),
    ),
    Mutant(
        name="open-epoch-is-free",
        breaks="The sparse vector's current threshold costs nothing until it abstains.",
        file="mechanisms/papers/sparse_vector.py",
        old="min(state.abstained + 1, self._most_epochs)",
        new="min(state.abstained, self._most_epochs)",
        killers=(
            "tests/mechanisms/test_sparse_vector.py::TestPrice::test_spent_counts_the_open_epoch_and_ends_at_the_total",
        ),
    ),
    Mutant(
        name="question-noise-halved",
        breaks="The sparse vector's questions get the noise of its threshold, half of what they need.",
        file="mechanisms/papers/sparse_vector.py",
        old="return discrete_laplace(2 * self.scale)",
        new="return discrete_laplace(self.scale)",
        killers=("tests/mechanisms/test_sparse_vector.py::TestExactPrivacy::test_an_epoch_keeps_two_over_lambda",),
    ),
    Mutant(
        name="threshold-ladder-one-step",
        breaks="The threshold-ladder's neighbours are taken to be one rung apart, and may be two.",
        file="mechanisms/votes/threshold_ladder.py",
        old="ONE_WAY = ((0, 1), (0, 2))",
        new="ONE_WAY = ((0, 1),)",
        killers=(
            "tests/mechanisms/test_threshold_ladder.py::TestCertificate::test_designs_are_certified_and_broken_twins_are_not",
        ),
    ),
    Mutant(
        name="negative-threshold-not-charged",
        breaks="The chance of a negative threshold is not part of the threshold-ladder's delta.",
        file="mechanisms/votes/threshold_ladder.py",
        old="delta = float(self._failing().upper()) * (1 + 1e-9) + SAMPLING",
        new="delta = SAMPLING",
        killers=(
            "tests/mechanisms/test_threshold_ladder.py::TestLosses::test_total_is_threshold_plus_abstentions",
        ),
    ),
    Mutant(
        name="argmax-sensitivity-one",
        breaks="A changed vote is taken to move one count of a noisy argmax, and moves two.",
        file="mechanisms/tables/argmax_price.py",
        old="divergences = {a: a / sigma**2 for a in ORDERS}",
        new="divergences = {a: a / (2 * sigma**2) for a in ORDERS}",
        killers=("tests/mechanisms/test_argmax_laws.py::TestConditioning::test_every_neighbouring_histogram",),
    ),
    Mutant(
        name="limit-per-block",
        breaks="Noisy max may give all of its answers again in every block.",
        file="mechanisms/votes/noisy_max.py",
        old="left = 0 if state.halted else self.max_answers - state.answered",
        new="left = 0 if state.halted else self.max_answers",
        killers=(
            "tests/mechanisms/test_noisy_max.py::TestRelease::test_batch_blocks_and_online_halt_at_the_limit",
        ),
    ),
    Mutant(
        name="test-not-charged",
        breaks="Confident max pays for its labels, and not for the tests before them.",
        file="mechanisms/votes/confident_max.py",
        old="return one_bit_loss(self.sigma_test) * self.max_questions + self._label_loss * self.max_answers",
        new="return self._label_loss * self.max_answers",
        killers=("tests/mechanisms/test_confident_max.py::TestPrice::test_tests_and_labels_add_up",),
    ),
    Mutant(
        name="soft-mean-scale",
        breaks="The certificate of noisy means takes a teacher's part for one step, and it has many.",
        file="mechanisms/scores/noisy_mean.py",
        old="square = Fraction(self.grain) ** 2 * self.max_answers / Fraction(self.sigma) ** 2",
        new="square = Fraction(self.max_answers) / Fraction(self.sigma) ** 2",
        killers=("tests/mechanisms/test_noisy_mean.py::test_calibrated_to_the_budget_and_certified",),
    ),
    Mutant(
        name="scores-not-clipped",
        breaks="A teacher's score counts with whatever size it has, outside of the public range too.",
        file="mechanisms/scores/noisy_mean.py",
        old="clipped = np.clip(scores.astype(np.int64), self.low, self.high) - self.low",
        new="clipped = scores.astype(np.int64) - self.low",
        killers=("tests/mechanisms/test_noisy_mean.py::test_one_teacher_moves_a_sum_by_at_most_the_grain",),
    ),
    Mutant(
        name="median-distance-too-large",
        breaks="The distance of a soft label's median is one too large downwards.",
        file="mechanisms/scores/scores.py",
        old="np.where(cells > 0, self._place - 1 - below, everybody)",
        new="np.where(cells > 0, self._place - below, everybody)",
        killers=("tests/mechanisms/test_scores.py::test_distance_is_the_exact_distance_to_instability",),
    ),
    Mutant(
        name="exponential-factor-two",
        breaks="The exponential vote is priced as if one vote moved one gap.",
        file="mechanisms/single/exponential_vote.py",
        old="return 2 * steepest(self.weights)",
        new="return steepest(self.weights)",
        killers=(
            "tests/mechanisms/test_single_predictions.py::TestExactPrivacy::test_every_neighbouring_pair_keeps_epsilon",
        ),
    ),
    Mutant(
        name="flip-rate-too-small",
        breaks="The Gibbs vote's weights are made for twice the epsilon of an answer.",
        file="mechanisms/single/gibbs_flip.py",
        old="log = arb(fmpq(self.per_vote + self.per_label, self.per_label)).log()",
        new="log = arb(fmpq(self.per_vote + self.per_label, self.per_label)).log() / 2",
        killers=(
            "tests/mechanisms/test_single_predictions.py::TestExactPrivacy::test_every_neighbouring_pair_keeps_epsilon",
        ),
    ),
)
