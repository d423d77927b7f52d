"""Mutants of single private answers: their prices, and what is asked twice."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="padded-stumps-price",
        breaks="An answer of padded stumps costs the same where a record is replaced.",
        file="prediction/prices/padded_stumps.py",
        old='return _up(once if adjacency == "add-remove" else once + a)',
        new="return _up(once)",
        killers=("tests/prediction/test_padded_price.py::test_prices_are_the_theorems",),
    ),
    Mutant(
        name="padded-stumps-rate",
        breaks="Padded stumps run at a rate for e^epsilon, and should for (1 + e^epsilon) / 2.",
        file="prediction/prices/padded_stumps.py",
        old='excess = grown / 2 if adjacency == "add-remove"',
        new='excess = grown if adjacency == "add-remove"',
        killers=("tests/prediction/test_padded_price.py::test_a_rate_costs_what_was_asked_and_hardly_less",),
    ),
    Mutant(
        name="semi-private-replace-one",
        breaks="A replaced record is taken to change errors by one, and changes two of them.",
        file="prediction/predictors/semi_private.py",
        old='return epsilon if adjacency == "add-remove" else epsilon / 2',
        new="return epsilon",
        killers=("tests/prediction/test_semi_private.py::test_rates_by_adjacency",),
    ),
    Mutant(
        name="stable-inner-replace-one",
        breaks="The stable learner's draw costs the same where a record is replaced.",
        file="prediction/predictors/stable.py",
        old='return self.rate if self.adjacency == "add-remove" else 2 * self.rate',
        new="return self.rate",
        killers=("tests/prediction/test_stable.py::test_what_is_claimed_is_what_the_formulas_say",),
    ),
    Mutant(
        name="subset-for-free",
        breaks="That a record is in the candidates' subset costs no delta.",
        file="prediction/predictors/stable.py",
        old="return Loss(drawn.divergences, eta)",
        new="return Loss(drawn.divergences, 0.0)",
        killers=("tests/prediction/test_stable.py::test_what_is_claimed_is_what_the_formulas_say",),
    ),
    Mutant(
        name="inner-predictor-unchecked",
        breaks="A predictor on a random subset may promise less than it was priced for.",
        file="prediction/predictors/subsampled.py",
        old="predictor.epsilon is None or predictor.epsilon > self.inner:",
        new="predictor.epsilon is None:",
        killers=("tests/prediction/test_subsampled.py::test_a_predictor_that_promises_less_is_refused",),
    ),
    Mutant(
        name="answers-by-row-number",
        breaks="Records go to teachers by their place, also where one may be added or removed.",
        file="prediction/predictors/teachers_vote.py",
        old=('    if adjacency == "replace-one":\n        return np.arange(n) % n_shards'),
        new=("    if adjacency in RECORDS:\n        return np.arange(n) % n_shards"),
        killers=("tests/prediction/test_teachers_vote.py::test_shards_depend_on_no_other_record",),
    ),
    Mutant(
        name="gibbs-span-one-sided",
        breaks="The span of a random vote's log-odds counts one side of it.",
        file="prediction/prices/bounded_range.py",
        old="ratio = Fraction(a + f, f) * Fraction(a * k + f, a * (k - 1) + f)",
        new="ratio = Fraction(a + f, f)",
        killers=("tests/prediction/test_bounded_range.py::test_the_random_vote_moves_as_far_as_claimed",),
    ),
    Mutant(
        name="ledger-after-the-answer",
        breaks="An answer is known before it is on record: where the ledger fails, it is told for free next time.",
        file="prediction/spending/many_answers.py",
        old="                spend(\n",
        new=(
            "                self._said |= {keys[i]: int(label) for i, label in zip(some, labels, strict=True)}\n"
            "                spend(\n"
        ),
        killers=("tests/prediction/test_spending.py::test_an_answer_that_was_not_recorded_is_not_known_either",),
    ),
    Mutant(
        name="dearer-predictor-taken",
        breaks="A predictor may answer at a higher price than its plan.",
        file="prediction/spending/many_answers.py",
        old="if predictor.epsilon is None or predictor.epsilon > answering.epsilon_each or dearer:",
        new="if predictor.epsilon is None:",
        killers=("tests/prediction/test_spending.py::test_a_predictor_that_is_dearer_than_the_plan_is_refused",),
    ),
    Mutant(
        name="same-question-spends-again",
        breaks="A question of single answers that was asked before is drawn again.",
        file="prediction/spending/many_answers.py",
        old="new = sorted(i for key, i in first.items() if key not in self._said)",
        new="new = sorted(first.values())",
        killers=("tests/prediction/test_spending.py::test_the_same_question_is_free_and_has_the_same_answer",),
    ),
)
