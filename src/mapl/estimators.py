"""The scikit-learn face: PrivateClassifier learns a model that may be published, PrivateOracle answers online.

``predict`` is free; ``answer`` spends. A ledger that is handed over cannot be copied, so `clone`, cross-validation
and grid search with one fail loudly instead of spending it again and again.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mapl.data.classes import Classes
from mapl.data.conform import conformed
from mapl.data.rows import Rows, checked, digests, n_rows, take
from mapl.data.schema import Schema, draft
from mapl.data.shards import ShardKey
from mapl.data.table import PrivateTable, unit_column
from mapl.errors import BudgetExhausted, InvalidData, InvalidParameter
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.pipeline.inputs import n_units, split_label_private
from mapl.pipeline.label import Effort, Workplace, label, shards
from mapl.pipeline.request import Request, planned
from mapl.planning import Agreement
from mapl.release import Ledger, Limits, MemoryLedger, Statement, statement_of
from mapl.release.loop import Released, begin_stage, step
from mapl.release.promise import promise_of
from mapl.students.student import train_student
from mapl.teachers import as_learner, fit_teachers, rehearse
from mapl.types import ABSTAIN, Budget, Labels

FROM_LABELS = "labels"
"""Declares that which classes occur among the private labels is public knowledge."""

UNIT_OF_GROUPS = "group"
"""How statements call the unit of rows that came with groups."""


class _Private(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What both faces share: reading private rows as they are declared."""

    def _declared_classes(self, y: NDArray[Any]) -> NDArray[Any]:
        if self.classes is None:
            raise InvalidParameter(
                "classes is None, and mapl never reads the classes off private labels: a rare class would give its "
                'holder away. Declare them, for example classes=("no", "yes"); or classes="labels" if which '
                "classes occur is public knowledge."
            )
        known = (
            np.unique(y)
            if isinstance(self.classes, str) and self.classes == FROM_LABELS
            else np.array(self.classes)
        )
        if known.ndim != 1 or len(known) < 2 or len(set(known.tolist())) < len(known):
            raise InvalidParameter(
                f"There are {known.size} classes declared; expected at least two different ones. A classifier "
                "can't learn from one class."
            )
        return known

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Check rows and remember their columns; tables keep their types, all else becomes a matrix of numbers."""
        rows = X if hasattr(X, "columns") or hasattr(X, "column_names") else None
        if rows is None:
            return validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan"
            )
        rows = checked(rows, "rows")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return rows

    def _request(self, known: NDArray[Any], *, unit: str | None) -> Request:
        agreement = self.agreement
        return Request(
            Budget(self.epsilon, self.delta),
            _names(known),
            n_teachers=None if self.n_teachers == "auto" else self.n_teachers,
            n_rows=self.n_rows,
            mechanism=self.mechanism,
            settings=self.settings or {},
            n_queries=self.n_queries,
            agreement=Agreement.parse(agreement) if isinstance(agreement, str) else agreement,
            may_abstain=self.may_abstain,
            adjacency=self.adjacency,
            unit=unit,
            error_share=getattr(self, "error_share", 0.0),
        )

    def _coins(self) -> Coins:
        return SystemCoins() if self.seed is None else SeededCoins(self.seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.non_deterministic = True
        return tags


class PrivateClassifier(_Private):
    """Learn a classifier from private rows that may be published, by teachers that vote on public rows.

    Parameters
    ----------
    learner
        Who teaches: the name of a preset, an unfitted estimator or Pipeline, a function ``train(X, y) -> predict``,
        or a `Command`.
    epsilon, delta
        The budget of one `fit`. Every `fit` on the same people spends anew, and budgets add up.
    classes
        The declared classes, in order; "labels" declares that which classes occur is public.
    n_teachers, n_rows
        K, or "auto": by a public rule from ``n_rows``, about how many units there are as far as the public knows.
    adjacency
        "add-remove" (default), "replace-one" (needs groups), or "labels": only labels are private and the features
        themselves become the questions, so `fit` takes no public rows.
    mechanism, settings, may_abstain, agreement, n_queries, error_share
        As in ``mapl learn``: how labels are released. "auto" answers every question unless it may abstain.
    student, strategy
        Who learns from the released labels, and how: "plain", "imputed", "self-training" or "voting".
    ledger
        Where the spending is recorded, for example a SqliteLedger; a new one in memory if None.
    seed
        Seeded coins, for tests only: the result is NOT PRIVATE.

    Attributes
    ----------
    statement_
        What may be printed about the fit: epsilon, delta, adjacency, unit, assumptions.
    student_, released_, plan_
        The student, the released labels of the public rows (-1 for none), and the plan.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for the adjacency and unit in ``statement_``, for everything
    this object publishes. Proof: docs/proofs/pipeline.md.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivateClassifier
    >>> world = np.random.default_rng(0)
    >>> X, public = world.normal(size=(4000, 3)), world.normal(size=(300, 3))
    >>> clf = PrivateClassifier(epsilon=2.0, delta=1e-6, classes=(False, True), n_teachers=100, n_jobs=1)
    >>> clf = clf.fit(X, X[:, 0] > 0, public=public)
    >>> bool(clf.score(public, public[:, 0] > 0) > 0.8)
    True
    >>> clf.statement_.guaranteed_epsilon <= 2.0
    True
    """

    def __init__(
        self,
        learner: Any = "ridge",
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: Any = None,
        n_teachers: int | str = "auto",
        n_rows: int | None = None,
        adjacency: str = "add-remove",
        mechanism: str = "auto",
        settings: dict[str, Any] | None = None,
        may_abstain: bool = False,
        agreement: Any = None,
        n_queries: int | None = None,
        error_share: float = 0.0,
        student: Any = None,
        strategy: str = "plain",
        time_limit: float | None = None,
        n_jobs: int = -1,
        ledger: Any = None,
        seed: int | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.n_teachers = n_teachers
        self.n_rows = n_rows
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.settings = settings
        self.may_abstain = may_abstain
        self.agreement = agreement
        self.n_queries = n_queries
        self.error_share = error_share
        self.student = student
        self.strategy = strategy
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.seed = seed

    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Train teachers on private rows, release labels for public ones, train the student on these.

        Parameters
        ----------
        X, y
            Private rows and their labels.
        public
            Public rows with the same columns; none where the adjacency is "labels".
        groups
            Whose each row is: the unit that is protected. Without groups every row is a unit.
        """
        if (public is None) != (self.adjacency == "labels"):
            raise InvalidParameter(
                "Public rows are needed to ask the teachers about: give fit(X, y, public=rows), or "
                'adjacency="labels" where the features are public themselves (not both).'
            )
        rows, codes, known = _private_rows(self, X, y)
        unit = None if groups is None else UNIT_OF_GROUPS
        request = self._request(known, unit=unit)
        key = ShardKey.fresh()
        source = rows if public is None else self._rows(public, reset=False)
        schema = draft(source, classes=request.classes.names)
        table = _private_table(rows, codes, groups, schema)
        if public is None:
            table, source = split_label_private(table, key)
        questions = conformed(source, schema, "public rows")
        if request.adjacency != "add-remove" and request.n_rows is None and request.n_teachers is None:
            request = _with_rows(request, n_units(table))
        learner = as_learner(self.learner, request.classes, schema)
        rehearse(learner, questions, len(known), n_jobs=self.n_jobs, time_limit=self.time_limit)
        plan = planned(request, n_rows(questions))
        ledger = MemoryLedger() if self.ledger is None else self.ledger
        labelled = label(
            table,
            questions,
            plan,
            learner,
            Workplace(key, ledger),
            coins=self._coins(),
            effort=Effort(self.n_jobs, self.time_limit),
        )
        self.classes_ = known
        self.plan_ = plan.plan
        self.statement_ = labelled.statement
        self.released_ = labelled.labels
        self.error_rate_ = labelled.error_rate
        self.student_ = train_student(
            questions,
            labelled.labels,
            classes=request.classes,
            learner=self.student,
            strategy=self.strategy,
            schema=schema,
        )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of every row. Free: post-processing of what was released."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.student_.predict_codes(self._rows(X, reset=False))])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a probability for every row and class, where the student has them."""
        check_is_fitted(self)
        return self.student_.predict_proba(self._rows(X, reset=False))


class PrivateOracle(_Private):
    """Keep the teachers and answer questions as they come, until the budget for hard ones is gone.

    Parameters
    ----------
    n_queries
        How many questions the budget is planned for; at most so many are answered.
    mechanism
        "auto" takes the ladder, or what else is expected to answer most reliably; it may abstain.

    Others as in `PrivateClassifier`.

    Attributes
    ----------
    statement_
        What may be printed about all answers so far.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for all answers together, also if questions depend on earlier
    answers. Proof: docs/proofs/pipeline.md. The same question again is answered from memory, for free.
    """

    def __init__(
        self,
        learner: Any = "ridge",
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: Any = None,
        n_teachers: int | str = "auto",
        n_rows: int | None = None,
        adjacency: str = "add-remove",
        mechanism: str = "auto",
        settings: dict[str, Any] | None = None,
        may_abstain: bool = True,
        agreement: Any = None,
        n_queries: int = 1000,
        time_limit: float | None = None,
        n_jobs: int = -1,
        ledger: Any = None,
        seed: int | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.n_teachers = n_teachers
        self.n_rows = n_rows
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.settings = settings
        self.may_abstain = may_abstain
        self.agreement = agreement
        self.n_queries = n_queries
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.seed = seed

    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Train a teacher on every shard; nothing is spent yet.

        Parameters
        ----------
        public
            Some public rows with the same columns, from which presets take the columns' kinds and scales. Without
            them numbers are scaled within each shard.
        """
        if self.adjacency == "labels":
            raise InvalidParameter('An oracle protects whole rows: take adjacency "add-remove" or "replace-one".')
        rows, codes, known = _private_rows(self, X, y)
        schema = None if public is None else draft(self._rows(public, reset=False))
        request = self._request(known, unit=None if groups is None else UNIT_OF_GROUPS)
        table = _private_table(rows, codes, groups, schema)
        if request.adjacency == "replace-one" and request.n_rows is None and request.n_teachers is None:
            request = _with_rows(request, n_units(table))
        plan = planned(request, self.n_queries)
        assert plan.choice is not None
        self._planned, self._mechanism, self._coins_ = plan, plan.choice.mechanism, self._coins()
        self._ledger: Ledger = MemoryLedger() if self.ledger is None else self.ledger
        self._ledger.open(plan.plan.digest, Limits.of_plan(plan.plan))
        sharded = shards(table, ShardKey.fresh(), plan.plan.n_teachers, request.adjacency)
        self._teachers = fit_teachers(
            as_learner(self.learner, request.classes, schema),
            sharded,
            n_classes=len(known),
            n_jobs=self.n_jobs,
            time_limit=self.time_limit,
        )
        begin_stage(self._ledger, self._mechanism, self._coins_, plan.task)
        self._schema = schema
        self._said: dict[bytes, int] = {}
        self.classes_, self.plan_ = known, plan.plan
        return self

    def answer(self, X: Any) -> NDArray[Any]:
        """Return a label for every row, None where the mechanism abstains. Spends, except for rows asked before.

        Raises
        ------
        BudgetExhausted
            If the plan's limit has been reached before the first new row; otherwise rows past it get None.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        if self._schema is not None:
            rows = conformed(rows, self._schema, "questions")
        asked = [one for block in digests(rows, None) for one in block]
        new = [i for i, one in enumerate(asked) if one not in self._said and asked.index(one) == i]
        if new:
            self._ask(rows, asked, new)
        codes = [self._said.get(one, ABSTAIN) for one in asked]
        return np.array([None if code == ABSTAIN else self.classes_[code] for code in codes], dtype=object)

    def _ask(self, rows: Rows, asked: list[bytes], new: list[int]) -> None:
        state = self._ledger.progress("labels").state
        left = self._planned.task.n_queries - state.answered - state.abstained
        if state.halted or left <= 0:
            raise BudgetExhausted(
                f"The budget is gone: {state.answered} answers and {state.abstained} abstentions were published. "
                "Questions asked before are still answered; new ones need a new run, whose budget adds up."
            )
        new = new[:left]
        tallies = self._teachers.votes(take(rows, np.array(new, dtype=np.int64)))
        outcome = step(self._ledger, self._mechanism, state, tallies, self._coins_)
        for i, code in zip(new, outcome.labels, strict=False):
            self._said[asked[i]] = int(code)

    @property
    def statement_(self) -> Statement:
        """What may be printed about the answers so far."""
        check_is_fitted(self)
        progress = self._ledger.progress("labels")
        released = Released(progress.labels, progress.fallback, progress.state, self._planned.task.n_queries)
        request = self._planned.request
        return statement_of(
            self._mechanism,
            self._planned.task,
            released,
            self._coins_,
            promise=promise_of(request.adjacency, request.unit),
            plan_digest=self._planned.plan.digest,
            ledger_head=self._ledger.head,
        )


def _private_rows(estimator: _Private, X: Any, y: Any) -> tuple[Rows, Labels, NDArray[Any]]:
    rows = estimator._rows(X, reset=True)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(labels) != n_rows(rows):
        raise InvalidData("X and y differ in number of rows; there must be one label per row.")
    known = estimator._declared_classes(labels)
    return rows, _codes(labels, known), known


def _private_table(rows: Rows, codes: Labels, groups: Any, schema: Schema | None) -> PrivateTable:
    if schema is not None:
        rows = conformed(rows, schema, "private rows")
    return PrivateTable(rows, codes, None if groups is None else unit_column(groups, name="groups"))


def _codes(labels: NDArray[Any], known: NDArray[Any]) -> Labels:
    """Return the number of every label's class; labels outside the declared classes are refused, not quoted."""
    order = np.argsort(known, kind="stable")
    try:
        place = np.minimum(np.searchsorted(known[order], labels), len(known) - 1)
    except TypeError:
        place = np.zeros(len(labels), dtype=np.int64)
    codes = order[place]
    if (known[codes] != labels).any():
        raise InvalidData(
            f"y holds labels that are none of the {len(known)} declared classes; declare every class in `classes`, "
            "in the type that y has."
        )
    return codes.astype(np.int32)


def _names(known: NDArray[Any]) -> Classes:
    return Classes(tuple(str(one) for one in known.tolist()))


def _with_rows(request: Request, n: int) -> Request:
    from dataclasses import replace

    return replace(request, n_rows=n)
