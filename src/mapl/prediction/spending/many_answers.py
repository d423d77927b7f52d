"""Many questions: every answer is priced by the plan, recorded in the ledger, and only then told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.accounting import Loss
from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidParameter
from mapl.mechanisms.mechanism import Parameters, PricedByLoss
from mapl.noise import Coins
from mapl.planning.plan import Plan, Stage
from mapl.planning.plan_maker import Terms, make_plan
from mapl.prediction.predictors.predictor import NEIGHBOURS, ONE_RECORD, Predictor
from mapl.prediction.prices.bounded_range import loss_of_answer
from mapl.prediction.prices.offers import NEEDS_NO_NUMBER as QUICK
from mapl.prediction.prices.offers import Offer, Wanted
from mapl.release import Ledger, Limit
from mapl.release.ledger.ledger import NeverCopied
from mapl.release.spend import Decision, begin, first_entry, spend
from mapl.types import Labels, Outcome, State

STAGE = "answers"
AT_ONCE, SLOW_AT_ONCE = 256, 8
"""Answers that are recorded in one step; a run that is killed has lost the time for no more of them.

How many goes by the method, never by the clock: the ledger is public, and running times are private.
"""
TWO = 2


@dataclass(frozen=True, slots=True)
class Answering(PricedByLoss):
    """The price list of a run: so many answers, all of one method and at one price.

    Notes
    -----
    *Guarantee.* All answers together, also to questions that depend on earlier answers, cost `total` at most.
    Theorem 1 of docs/proofs/prediction-composition.md.
    """

    name: str
    hypotheses: str
    epsilon_each: float
    per_answer: Loss
    n_queries: int

    @classmethod
    def of(cls, offer: Offer, wanted: Wanted) -> Answering:
        return cls(offer.method, wanted.hypotheses.name, offer.epsilon_each, offer.per_answer, wanted.n_questions)

    @property
    def parameters(self) -> Parameters:
        return {
            "hypotheses": self.hypotheses,
            "epsilon_each": self.epsilon_each,
            "n_queries": self.n_queries,
            "max_abstentions": 0,
        }

    @property
    def total(self) -> Loss:
        return self.per_answer * self.n_queries

    def spent(self, state: State) -> Loss:
        return self.per_answer * state.answered


def plan_of(answering: Answering, wanted: Wanted, classes: tuple[str, ...]) -> Plan:
    """Fix what may be released and what that costs; there are no teachers to be planned."""
    if len(classes) != TWO:
        raise InvalidParameter(
            f"There are {len(classes)} classes; single answers are between two. Merge some, or take mapl learn."
        )
    return make_plan(
        Terms(wanted.budget, NEIGHBOURS[wanted.adjacency], ONE_RECORD),
        [Stage(STAGE, answering.name, answering.parameters, wanted.budget)],
        [f"{answering.name} for {wanted.hypotheses.name}, by explicit bounds or as asked"],
        classes=classes,
        n_queries=wanted.n_questions,
    )


class AnswerBook(NeverCopied):
    """Answers questions about a hidden sample until the plan's limit; what was asked before is free.

    Parameters
    ----------
    ledger
        Opened with the plan; answers are recorded in it before they are returned.
    """

    def __init__(self, predictor: Predictor, answering: Answering, ledger: Ledger, coins: Coins) -> None:
        _refuse_dearer(predictor, answering)
        self._predictor, self._answering, self._ledger, self._coins = predictor, answering, ledger, coins
        self._said: dict[bytes, int] = {}
        # Two threads that look at the same state would both take the last answer.
        self._lock = Lock()
        limit = Limit.of(answering.parameters, answering.n_queries)
        facts = {"adjacency": predictor.adjacency}
        begin(ledger, first_entry(STAGE, answering.name, answering.parameters, coins, limit=limit, **facts))

    @property
    def state(self) -> State:
        """What was published so far."""
        return self._ledger.progress(STAGE).state

    def recall(self, rows: NDArray[Any]) -> None:
        """Take over what an interrupted run published: its answers are those of the first different rows."""
        keys = list(dict.fromkeys(map(question_key, rows)))
        published = self._ledger.progress(STAGE).labels.tolist()
        if len(published) > len(keys):
            raise InvalidParameter(
                "The run has published more answers than there are questions; ask the same ones."
            )
        self._said |= dict(zip(keys, published, strict=False))

    def ask(self, rows: NDArray[Any], *, on_answer: Callable[[int], None] | None = None) -> Labels:
        """Return 0 or 1 for every row. A new question spends one answer; all or none of the new ones are taken.

        Parameters
        ----------
        on_answer
            Called after each new answer with their number so far, which says nothing of the answers.

        Raises
        ------
        BudgetExhausted
            If there are more new questions than answers left; nothing is spent then.
        """
        keys = [question_key(row) for row in rows]
        with self._lock:
            first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
            new = sorted(i for key, i in first.items() if key not in self._said)
            self._refuse_beyond(len(new))
            at_once = AT_ONCE if self._answering.name == QUICK else SLOW_AT_ONCE
            for start in range(0, len(new), at_once):
                some = new[start : start + at_once]
                labels = np.empty(len(some), dtype=np.int32)
                for place, i in enumerate(some):
                    labels[place] = self._predictor.answer(rows[i], self._coins)
                    if on_answer is not None:
                        on_answer(start + place + 1)
                before = self.state
                outcome = Outcome(labels, before.after(len(some), 0, halted=False))
                spend(
                    self._ledger,
                    STAGE,
                    Decision.of(outcome, before, n_asked=len(some), n_classes=TWO, payload={}),
                )
                self._said |= {keys[i]: int(label) for i, label in zip(some, labels, strict=True)}
        return np.array([self._said[key] for key in keys], dtype=np.int32)

    def _refuse_beyond(self, n_new: int) -> None:
        left = self._answering.n_queries - self.state.answered
        if n_new > left:
            raise BudgetExhausted(
                f"There are {n_new} new questions and {left} of {self._answering.n_queries} answers left; nothing "
                "was spent. Ask fewer; questions asked before are free. More answers need a new fit with a larger "
                "n_queries, and the budgets of both add up."
            )

    def __repr__(self) -> str:
        return f"AnswerBook({self._answering.name}, private)"


def question_key(row: NDArray[Any]) -> bytes:
    """Return what makes a question the same as another: its numbers; 0 and -0 are one, and so is every NaN."""
    numbers = np.asarray(row, dtype=np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.tobytes()


def _refuse_dearer(predictor: Predictor, answering: Answering) -> None:
    """Refuse a predictor whose answers cost more than the plan says, at any order."""
    loss, priced = loss_of_answer(predictor), answering.per_answer
    dearer = loss.delta > priced.delta or any(loss.at(order) > most for order, most in priced.divergences)
    if predictor.epsilon is None or predictor.epsilon > answering.epsilon_each or dearer:
        raise GuaranteeBroken(
            "The predictor's answers cost more than the plan says; nothing was answered. Make the predictor with "
            "the settings of the plan."
        )
