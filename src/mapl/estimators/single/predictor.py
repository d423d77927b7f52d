"""Private predictions: the model stays hidden, and every new question is paid for."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mapl.bounds.bound import Bound
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.estimators.handed_over import names_of
from mapl.estimators.single.single_answers import NeverPredicts, Sample
from mapl.estimators.wording import in_python_words
from mapl.prediction.prices.offers import Wanted, best_offer
from mapl.prediction.spending.many_answers import AnswerBook, Answering, plan_of
from mapl.prediction.spending.one_rule import NAME as SEMI_PRIVATE
from mapl.prediction.spending.statement import state_answers, state_drawn_rule
from mapl.release import Statement
from mapl.types import Budget


@dataclass(eq=False, repr=False)
class PrivatePredictor(NeverPredicts):
    """Answer questions about private rows with a pure epsilon, by a class of simple rules; no public rows needed.

    Parameters
    ----------
    hypotheses
        "thresholds", "stumps", "intervals", "unions:3", "rectangles", "halfspaces", "conjunctions:2",
        "decision-lists:2", or a class of `mapl.prediction.hypotheses`.
    epsilon, delta
        The budget of all answers together. With a delta, many answers compose better than by adding epsilons up.
    classes
        The two declared classes; "labels" declares that which classes occur in y is public.
    label_values
        What labels mean that are no names of classes, as in `PrivateClassifier`.
    n_queries
        How many different questions the budget is planned for; no more are answered.
    method
        "auto" (the least bound), "padded-stumps" (thresholds and stumps), "stable", "realizable", "gibbs",
        "two-stage", or "semi-private": one rule is released by means of public rows, and all answers are free.
    adjacency
        "replace-one": what a record says is hidden, not how many there are. "add-remove": whether it is there.
    realizable
        Declares that some rule of the class is never wrong.
    alpha
        The error above the best of the class that is wanted; refused, with the records it takes, if out of reach.
    n_rows
        With "add-remove": about how many records there are, as far as the public knows; all methods but padded
        stumps need it.
    ledger, seed
        As in `PrivateClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, plan_
        As in `PrivateClassifier`.
    method_, bound_
        What "auto" chose, and the bound it chose by, on the error of one answer above the best of the class; None
        where there is no number of records to compute it for.
    statement_
        What may be printed about all answers so far.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy of all answers together, also if questions depend on earlier
    answers: docs/proofs/prediction-composition.md. A fitted predictor holds private rows and is never copied.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivatePredictor
    >>> X = np.random.default_rng(0).uniform(size=(3000, 2))
    >>> told = PrivatePredictor("stumps", epsilon=2.0, classes=("low", "high"), n_queries=2)
    >>> told = told.fit(X, np.where(X[:, 1] > 0.5, "high", "low"))
    >>> told.answer([[0.5, 0.05], [0.5, 0.95]]).tolist()
    ['low', 'high']
    >>> told.method_, round(told.statement_.epsilon, 3)
    ('padded-stumps', 2.0)
    """

    hypotheses: Any = "stumps"
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0
    classes: Any = None
    label_values: Any = None
    n_queries: int = 1
    method: str = "auto"
    adjacency: str = "replace-one"
    realizable: bool = False
    alpha: float | None = None
    n_rows: int | None = None
    ledger: Any = None
    seed: int | None = None

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None) -> Self:
        """Keep or summarise private rows. Nothing is spent yet, except by "semi-private".

        Parameters
        ----------
        public
            Public rows with the same columns, for "semi-private" alone.
        """
        sample = self._sample(X, y)
        if (public is not None) != (self.method == SEMI_PRIVATE):
            raise InvalidParameter(
                'Public rows go with method="semi-private", which needs them; all other methods need none.'
            )
        self._book: AnswerBook | None = None
        self.bound_: Bound | None = None
        self._coins_in_use, self._open = self._coins(), self._new_ledger()
        if public is not None:
            rows = self._points(public, "public rows", reset=False)
            self.plan_, self._drawn = self._released(sample, rows, self._open, self._coins_in_use)
            self.method_ = SEMI_PRIVATE
        else:
            self._prepare(sample)
        self.classes_ = sample.classes
        return self

    @in_python_words()
    def answer(self, X: Any) -> NDArray[Any]:
        """Return a class for every row. Every new question spends one of `n_queries` answers; old ones are free.

        Raises
        ------
        BudgetExhausted
            If there are more new questions than answers left; nothing is spent then.
        """
        check_is_fitted(self, "classes_")
        questions = self._questions(X)
        if self._book is not None:
            return np.asarray(self.classes_[self._book.ask(questions)])
        return np.asarray(self.classes_[self._drawn.predict(questions)])

    @property
    def statement_(self) -> Statement:
        """What may be printed about the answers so far."""
        check_is_fitted(self, "classes_")
        ledger = self._open
        if self._book is None:
            return state_drawn_rule(
                self.plan_, self._coins_in_use, adjacency=self._drawn.adjacency, ledger_head=ledger.head
            ).recorded_by(ledger)
        return state_answers(
            self._answering,
            self.plan_,
            self._book.state,
            self._coins_in_use,
            adjacency=self._adjacency,
            ledger_head=ledger.head,
        ).recorded_by(ledger)

    def _prepare(self, sample: Sample) -> None:
        wanted = Wanted(
            Budget(self.epsilon, self.delta),
            self.n_queries,
            sample.hypotheses,
            self._neighbours(),
            self._n_records(sample),
            realizable=self.realizable,
            alpha=self.alpha,
        )
        offer = best_offer(wanted, self.method)
        self._answering = Answering.of(offer, wanted)
        plan = plan_of(self._answering, wanted, names_of(sample.classes).names)
        predictor = offer.fit(sample.points, sample.ones, self._coins_in_use)
        self._open_ledger(self._open, plan, sample)
        self._book = AnswerBook(predictor, self._answering, self._open, self._coins_in_use)
        self.plan_, self.method_, self.bound_, self._adjacency = plan, offer.method, offer.bound, wanted.adjacency

    def __getstate__(self) -> dict[str, Any]:
        if getattr(self, "_book", None) is not None:
            raise GuaranteeBroken(
                "A fitted PrivatePredictor is never copied or pickled: it holds private rows, and two copies would "
                "each spend the whole budget. Publish its answers, or take a SemiPrivateClassifier, which may be "
                "published."
            )
        state: dict[str, Any] = super().__getstate__()
        return state
