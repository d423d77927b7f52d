"""The oracle: teachers that stay, and answer questions as they come until the budget for hard ones is gone."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mapl.data.reading.conform import conform
from mapl.data.tables.rows import Rows, block_of, take
from mapl.data.units.row_digests import digests
from mapl.errors import BudgetExhausted, GuaranteeBroken, InvalidParameter
from mapl.estimators.handed_over import refuse_other_kind
from mapl.estimators.teaching_estimator import TeachingEstimator
from mapl.estimators.wording import in_python_words
from mapl.pipeline.online.waiting import WaitingTeachers
from mapl.release import Statement
from mapl.types import ABSTAIN


@dataclass(eq=False, repr=False)
class PrivateOracle(TeachingEstimator):
    """Keep the teachers and answer questions as they come, until the budget is gone.

    It has no `predict` and no `score`, so nothing that takes classifiers can spend by surprise: `answer` spends.

    Parameters
    ----------
    n_queries
        How many different questions the budget is planned for; no more are answered.
    may_abstain
        Whether "auto" may choose a mechanism that abstains on hard questions and so answers more of the others.
    learner, epsilon, delta, classes, label_values, n_teachers, n_rows, mechanism, settings, agreement
        As in `PrivateClassifier`.
    adjacency
        "add-remove" or "replace-one".
    time_limit, n_jobs, engine, schema, ledger, seed
        As in `PrivateClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, plan_
        As in `PrivateClassifier`.
    statement_
        What may be printed about all answers so far.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy of all answers together, also if questions depend on earlier
    answers. Proof: docs/proofs/pipeline.md. The oracle itself is private: it holds models of private rows, so a
    fitted one is never copied or pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivateOracle
    >>> world = np.random.default_rng(0)
    >>> X, public = world.normal(size=(4000, 3)), world.normal(size=(50, 3))
    >>> oracle = PrivateOracle(epsilon=4.0, classes=("left", "right"), n_teachers=200, n_queries=100, n_jobs=1)
    >>> oracle = oracle.fit(X, np.where(X[:, 0] > 0, "right", "left"), public=public)
    >>> oracle.answer([[-2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).tolist()
    ['left', 'right']
    >>> oracle.statement_.answered
    2
    """

    learner: Any = "ridge"
    _: KW_ONLY
    may_abstain: bool = True
    agreement: Any = None
    n_queries: int = 1000

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Train a teacher on every shard. Nothing is spent yet.

        Parameters
        ----------
        X, y, groups
            As in `PrivateClassifier.fit`.
        public
            Some public rows with the same columns, which need not be asked about: they tell what the columns are,
            and the learner is tried out on them.
        """
        if self.adjacency == "labels":
            raise InvalidParameter('An oracle protects whole rows: take adjacency "add-remove" or "replace-one".')
        given = self._given(X, y, public, groups)
        case = given.case
        request, learners = self._request(given), self._learners()
        self._waiting = WaitingTeachers.trained(case, request, learners, self._watch(), self._own_ledger)
        self._schema, self._example = case.declared.schema, block_of(case.public.rows, 0, 1)
        self._said: dict[bytes, int] = {}
        self._turned_away: set[bytes] = set()
        self._lock = Lock()
        self.classes_, self.plan_ = given.classes, self._waiting.planned.plan
        return self

    @in_python_words()
    def answer(self, X: Any) -> NDArray[Any]:
        """Return a class for every row, None where there is no answer. Spends, except for rows asked before.

        A question counts once: rows that agree in every column, up to 32-bit precision, have one answer. None means
        that the mechanism abstained, or that the budget ended within this batch; ``statement_`` tells how many.

        Raises
        ------
        BudgetExhausted
            If the budget was gone before the first new row. Rows asked before are still answered if asked alone.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        refuse_other_kind(rows, self._example, "questions", "rows of the fit")
        rows = conform(rows, self._schema, "questions", public=True)
        asked = [one for block in digests(rows, None) for one in block]
        first: dict[bytes, int] = {}
        for i, one in enumerate(asked):
            first.setdefault(one, i)
        # One question at a time: two threads that decide from the same state would use its coins and budget twice.
        with self._lock:
            new = {one: i for one, i in first.items() if one not in self._said}
            if new:
                self._ask(rows, new)
        names = dict(enumerate(self.classes_.tolist())) | {ABSTAIN: None}
        return np.array([names[self._said.get(one, ABSTAIN)] for one in asked], dtype=object)

    def _ask(self, rows: Rows, new: dict[bytes, int]) -> None:
        """Have new questions answered, as many as the budget is left for."""
        left = self._waiting.questions_left
        if not left:
            state = self._waiting.state
            self._turned_away.update(new)
            raise BudgetExhausted(
                f"The budget is gone: {state.answered} answers and {state.abstained} abstentions were published. "
                "Questions asked before are still answered; new ones need a new fit, whose budget is spent on top."
            )
        taken = list(new)[:left]
        labels = self._waiting.ask(take(rows, np.array([new[one] for one in taken], dtype=np.int64)))
        self._said.update(zip(taken, labels.tolist(), strict=False))  # shorter where the run halted
        self._turned_away.update(one for one in new if one not in self._said)

    @property
    def statement_(self) -> Statement:
        """What may be printed about the answers so far."""
        check_is_fitted(self)
        return self._waiting.statement(turned_away=len(self._turned_away))

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_waiting"):
            raise GuaranteeBroken(
                "A fitted PrivateOracle is never copied or pickled: it holds models that were trained on private "
                "rows, and two copies would each spend the whole budget. Publish its answers, or fit a "
                "PrivateClassifier, which may be published."
            )
        state: dict[str, Any] = super().__getstate__()
        return state
