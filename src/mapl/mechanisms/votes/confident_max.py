"""Confident max: a one-bit test of the largest count decides who is worth a noisy argmax."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from mapl.accounting import Loss, largest_integer
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, Task, until_nth
from mapl.mechanisms.tables.argmax_price import PricedWithSampling, argmax_loss, one_bit_loss, usable, usable_noise
from mapl.mechanisms.tables.noise_law import above, chance_of_leader, lay_out_argmax_law, noisy_argmax
from mapl.mechanisms.votes.noisy_max import estimate_sigma
from mapl.noise import Coins, discrete_gaussian
from mapl.types import ABSTAIN, Floats, Outcome, State, Tallies, positive_integer

TEST_SHARE = 0.2
"""Share of the budget that the tests take when no noise is given."""


@dataclass(frozen=True)
class ConfidentMax(PricedWithSampling):
    """Answer by noisy max where the largest count plus noise reaches a public threshold, abstain elsewhere.

    Parameters
    ----------
    sigma_test, threshold
        Discrete Gaussian noise on the largest count, and the bar it must reach.
    sigma
        Discrete Gaussian noise on every count of the questions that pass.
    max_questions, max_answers
        The run halts at whichever limit comes first; both are paid for in advance.
    n_classes
        Two classes have a smaller price than three or more.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for `max_questions` adaptively chosen questions of which
    `max_answers` are answered. Adjacency: one teacher changes its votes arbitrarily; unit: one teacher,
    hence every record of its shard. Test and label are two adaptive releases whose losses add; the largest
    count moves by at most one. Proof: docs/proofs/noisy-max.md.
    """

    sigma_test: float
    threshold: int
    sigma: float
    max_questions: int
    max_answers: int
    n_classes: int

    name: ClassVar[str] = "confident-max"

    @classmethod
    def for_task(
        cls,
        task: Task,
        *,
        sigma: float | None = None,
        sigma_test: float | None = None,
        threshold: float | None = None,
        max_answers: int | None = None,
    ) -> Self:
        """Calibrate what is not given: noise for all the task's questions, or answers for the given noise.

        The threshold is 60% of the teachers unless it is given.
        """
        budget, questions = task.budget, task.n_queries
        usable(budget, (task.n_classes + 1) * questions)
        bar = round(0.6 * task.n_teachers) if threshold is None else threshold
        if not 0 <= bar <= task.n_teachers or bar != int(bar):
            raise InvalidParameter(
                f"threshold is {bar}; it is a number of votes: a whole number between 0 and {task.n_teachers}."
            )
        if max_answers is not None:
            positive_integer(max_answers=max_answers)
            max_answers = min(max_answers, questions)
        if (sigma is None) != (sigma_test is None):
            raise InvalidParameter("Give both sigma and sigma_test, or neither.")

        bar, classes = int(bar), task.n_classes
        most = max_answers or questions
        if sigma is not None and sigma_test is not None:
            usable_noise(sigma=sigma, sigma_test=sigma_test)
            test, label = sigma_test, sigma
            affordable = largest_integer(
                lambda n: (
                    cls(test, bar, label, questions, n, classes).total.epsilon(budget.delta) <= budget.epsilon
                ),
                most=most,
            )
            if affordable < (max_answers or 1):
                raise CannotCalibrate(
                    f"sigma_test {test:g} on {questions} questions and sigma {label:g} afford {affordable} answers "
                    f"within epsilon {budget.epsilon:g} at delta {budget.delta:g}, not {max_answers or 1}: "
                    "raise the noise or the budget, or ask less."
                )
            return cls(test, bar, label, questions, affordable, classes)
        # A test costs half of what a label costs at the same noise; scale both so that the shares add to one.
        alone = estimate_sigma(task, most)
        label = alone / math.sqrt(1 - TEST_SHARE)
        test = alone * math.sqrt(questions / (2 * most * TEST_SHARE))
        made = cls(test, bar, label, questions, most, classes)
        while made.epsilon(None, budget.delta) > budget.epsilon:
            # Tests are priced in a moment, labels are not: more noise on labels only if they alone cost too much.
            if (made._label_loss * most).epsilon(budget.delta) > 0.97 * budget.epsilon:
                label *= 1.05
            test *= 1.01
            made = cls(test, bar, label, questions, most, classes)
        return made

    @property
    def parameters(self) -> Parameters:
        return {
            "sigma_test": self.sigma_test,
            "threshold": self.threshold,
            "sigma": self.sigma,
            "max_questions": self.max_questions,
            "max_answers": self.max_answers,
        }

    def start(self, coins: Coins) -> State:
        return State()

    def release(self, state: State, block: Tallies, coins: Coins) -> Outcome:
        questions_left = 0 if state.halted else self.max_questions - state.answered - state.abstained
        answers_left = self.max_answers - state.answered
        counts = block.counts[: max(questions_left, 0)]
        passes = (
            counts.max(axis=1) + coins.draw(discrete_gaussian(self.sigma_test), (len(counts),)) >= self.threshold
        )
        asked = until_nth(passes, answers_left) if answers_left > 0 else 0
        passes = passes[:asked]
        chosen = counts[:asked][passes]
        labels = np.full(asked, ABSTAIN, dtype=np.int32)
        labels[passes] = noisy_argmax(discrete_gaussian(self.sigma), chosen, coins)
        answered = len(chosen)
        halted = asked >= questions_left or answered >= answers_left
        return Outcome(labels, state.after(answered, asked - answered, halted=halted))

    def chances(self, block: Tallies, state: State) -> Floats:
        needed = self.threshold - block.counts.max(axis=1).astype(np.int64)
        passing = above(discrete_gaussian(self.sigma_test), needed - 1)
        law = lay_out_argmax_law(discrete_gaussian(self.sigma), block) * passing[:, None]
        law[:, block.n_classes] = 1 - passing
        return law

    @property
    def total(self) -> Loss:
        return one_bit_loss(self.sigma_test) * self.max_questions + self._label_loss * self.max_answers

    @property
    def _label_loss(self) -> Loss:
        return argmax_loss(self.sigma, self.n_classes)

    def spent(self, state: State) -> Loss:
        tested = one_bit_loss(self.sigma_test) * (state.answered + state.abstained)
        return tested + self._label_loss * state.answered

    def required_distance(self, probability: float) -> int | None:
        return None

    def chance_if_unanimous(self, n_teachers: int, n_classes: int) -> float:
        passing = float(above(discrete_gaussian(self.sigma_test), np.array([self.threshold - n_teachers - 1]))[0])
        return passing * chance_of_leader(discrete_gaussian(self.sigma), n_teachers - 1, n_classes)
