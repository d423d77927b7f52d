"""The classifier: from private rows and public ones to a student that may be published."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mapl.data.rows import Rows, n_rows, take
from mapl.data.shards import ShardKey
from mapl.estimators.face import Given, PrivateEstimator, sized
from mapl.estimators.given import names_of
from mapl.estimators.selecting import selection_of
from mapl.estimators.wording import in_python_words
from mapl.pipeline.by_active import ask, public_pool
from mapl.pipeline.cells import count
from mapl.pipeline.cells import train as train_on_cells
from mapl.pipeline.inputs import split_label_private
from mapl.pipeline.job import Learners
from mapl.pipeline.label import Effort, Labelled, Workplace, label, shards, voted
from mapl.pipeline.learn import facts_of
from mapl.pipeline.one_each import one_each
from mapl.pipeline.planned_cells import planned_cells
from mapl.pipeline.planned_questions import planned_questions
from mapl.pipeline.request import Request
from mapl.planning.method_rule import method_for
from mapl.planning.plan import Plan
from mapl.students.active import Active
from mapl.students.strategies import strategy_of
from mapl.students.student import Student, train_student
from mapl.types import Labels

REHEARSED_ROWS = 200


@dataclass(frozen=True, slots=True)
class Made:
    """What a fit released, and how a student learns from it. All public."""

    plan: Plan
    labelled: Labelled
    train: Callable[[], Student]


def _tells_probabilities(classifier: Any) -> bool:
    student = getattr(classifier, "student_", None)
    return student is None or hasattr(student.model, "predict_proba")


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Learn a classifier from private rows that may be published, by teachers that vote on public rows or by cells.

    Parameters
    ----------
    learner
        Who teaches: the name of a preset (``mapl learners``), an unfitted estimator or Pipeline, a function
        ``train(X, y) -> predict``, or a `Command`; None for ridge, where there are teachers. Scaling, encoding and
        selecting belong in here: what is fitted on all private rows before they reach `fit` is not covered.
    epsilon, delta
        The budget of one `fit`. Every `fit` on the same people spends anew, and the budgets add up.
    classes
        The declared classes; "labels" declares that which classes occur in y is public.
    method
        "teachers"; "cells", which counts private rows in cells around public ones; "auto": by public facts, and
        whatever only one of the two has, such as a learner, decides; or a short list of which one is chosen
        privately, such as "select:teachers/ridge,teachers/hgb,cells" (as in ``mapl learn``).
    n_teachers, n_rows
        K, or "auto": by a public rule from `n_rows`, about how many units there are as far as the public knows.
    n_cells, partition, rounds, per_unit
        Cells: how many, None for a public rule; "points", "centroids" or "leaves"; counted once or twice; which row
        of a group counts: "keyed" (by lot), "only" (there is one), or "latest:COLUMN".
    adjacency
        What is hidden: "add-remove" (whether a unit is in the table at all), "replace-one" (what its rows say;
        needs groups), or "labels": the features are public and become the questions, so `fit` takes no public rows.
    mechanism, settings, may_abstain, agreement, n_queries
        How labels are released, as in ``mapl learn``: "auto" answers every question unless it may abstain.
    error_share
        The share of epsilon for an estimate of the teachers' error rate, by which the mechanism is then chosen.
    student, strategy
        Who learns from the released labels, a preset or an estimator (None: what suits them best), and how: "auto",
        "plain", "imputed", "self-training", "voting" or "cleaned"; or "active", which asks about `n_queries` of the
        public rows (a quarter, if None) that it chooses itself, with settings: ``Active("committee", "hybrid")`` of
        `mapl.students.active`. Cells have one way, "auto".
    time_limit, n_jobs
        Seconds that a teacher may compute, None for any number; how many train at once, -1 for one per processor.
    ledger
        Where the spending is recorded, such as a new `SqliteLedger`; in memory if None. A ledger serves one fit.
    seed
        Seeded coins and shards, for tests: fits are reproducible and NOT PRIVATE.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The declared classes in ascending order; the columns of X, with names where X was a table.
    statement_
        What may be printed about the fit: epsilon, delta, adjacency, unit, assumptions.
    plan_, error_rate_
        The plan, and the estimate of the teachers' error rate if there is one.
    released_
        For every question the place of its released label in `classes_`, -1 for none. The questions are the public
        rows, or those rows of X that were set aside as questions.
    student_
        The published model. `mapl.students.save` writes it to a file that holds no pickle.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for the adjacency and unit in ``statement_``, of everything
    in the attributes, and hence of whatever is predicted and of a pickled classifier. Not covered: scores computed
    on private rows, running times, and messages of fits that failed. Proof: docs/proofs/pipeline.md.

    *scikit-learn.* With a seed and ``adjacency="labels"`` all of scikit-learn's estimator checks pass. Elsewhere
    the contract gives way to the promise:

    =================================  ============================================================================
    scikit-learn expects               what happens instead, and why
    =================================  ============================================================================
    the same fit gives the same model  noise and shards come from the operating system; a seed voids the promise
    ``fit(X, y)`` is enough            public rows are needed, except where only labels are private
    classes are found in y             they are declared: a rare class would give its holder away
    an estimator can be cloned         not with a ledger, which exists once: `clone`, and with it
                                       cross-validation and grid search, raise GuaranteeBroken before any spending
    an estimator can be fitted again   not with the same ledger: PlanMismatch
    a fitted estimator can be pickled  not together with its ledger; ``set_params(ledger=None)`` first
    =================================  ============================================================================

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivateClassifier
    >>> world = np.random.default_rng(0)
    >>> X, public = world.normal(size=(4000, 3)), world.normal(size=(200, 3))
    >>> clf = PrivateClassifier(epsilon=2.0, delta=1e-6, classes=(False, True), n_teachers=100, n_jobs=1)
    >>> clf = clf.fit(X, X[:, 0] > 0, public=public)
    >>> bool(clf.score(public, public[:, 0] > 0) > 0.8)
    True
    >>> clf.statement_.guaranteed_epsilon <= 2.0
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: Any = None,
        method: str = "auto",
        n_teachers: int | str = "auto",
        n_rows: int | None = None,
        adjacency: str = "add-remove",
        mechanism: str = "auto",
        settings: dict[str, Any] | None = None,
        may_abstain: bool = False,
        agreement: Any = None,
        n_queries: int | None = None,
        error_share: float = 0.0,
        n_cells: int | None = None,
        partition: str = "points",
        rounds: int = 1,
        per_unit: str = "keyed",
        student: Any = None,
        strategy: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int = -1,
        ledger: Any = None,
        seed: int | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.method = method
        self.n_teachers = n_teachers
        self.n_rows = n_rows
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.settings = settings
        self.may_abstain = may_abstain
        self.agreement = agreement
        self.n_queries = n_queries
        self.error_share = error_share
        self.n_cells = n_cells
        self.partition = partition
        self.rounds = rounds
        self.per_unit = per_unit
        self.student = student
        self.strategy = strategy
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.seed = seed

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Train teachers on private rows, release labels for public ones, train the student on these.

        Parameters
        ----------
        X, y
            Private rows and their labels: a matrix, a sparse matrix, lists, a pandas or polars DataFrame or a
            pyarrow Table.
        public
            Public rows in the same form and with the same columns; none where the adjacency is "labels".
        groups
            Whose each row is: the unit that is protected. Without groups every row is a unit.
        """
        given = self._given(X, y, public, groups)
        key = self._key()
        if public is None:
            teaching, questions = split_label_private(given.table, key)
            given = replace(given, table=teaching, public=questions)
        request = self._request(given)
        way, why = self._way(request, given)
        self._rehearse_student(given)
        made = self._made(given, request, key, way, why)
        # What was paid for is kept even if no student can learn from it.
        self.classes_, self.plan_, self.statement_ = given.classes, made.plan, made.labelled.statement
        self.released_, self.error_rate_ = made.labelled.labels, made.labelled.error_rate
        self.student_ = made.train()
        return self

    @in_python_words()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of every row. Free: it follows from what was released."""
        check_is_fitted(self, "student_")
        codes = self.student_.predict_codes(self._rows(X, reset=False))
        return np.asarray(self.classes_[codes])

    @available_if(_tells_probabilities)  # type: ignore[untyped-decorator]
    @in_python_words()
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a probability for every row and class, where the student has them. Free."""
        check_is_fitted(self, "student_")
        return self.student_.predict_proba(self._rows(X, reset=False))

    def _more_settings(self) -> dict[str, Any]:
        return {
            "error_share": self.error_share,
            "method": self.method,
            "n_cells": self.n_cells,
            "partition": self.partition,
            "rounds": self.rounds,
            "per_unit": self.per_unit,
        }

    def _way(self, request: Request, given: Given) -> tuple[str, str]:
        """Return the method and why, by the rule of ``mapl learn``: from settings and public facts alone."""
        named = Learners(self.learner, self.student, self.strategy).wants_teachers
        request.refuse_mixture(request.wants_teachers or named)
        if self.method != "auto":
            return self.method, f"{self.method} as asked"
        return method_for(facts_of(request, given.schema, n_rows(given.public), named))

    def _made(self, given: Given, request: Request, key: ShardKey, way: str, why: str) -> Made:
        active = Learners(strategy=self.strategy).active
        if active is not None:
            return self._asked(given, request, key, active)
        if request.candidates:
            return self._selected(given, request, key)
        return self._counted(given, request, key, why) if way == "cells" else self._labelled(given, request, key)

    def _asked(self, given: Given, request: Request, key: ShardKey, active: Active) -> Made:
        """Let a student ask the teachers about the public rows that it chooses."""
        request, learner = self._teaching(given, request)
        plan = planned_questions(request, active, n_rows(given.public))
        if plan.warning:
            warnings.warn(plan.warning, stacklevel=5)
        n_classes, effort = len(given.classes), Effort(self.n_jobs, self.time_limit)
        sharded = shards(given.table, key, plan.plan.n_teachers, request.adjacency)
        place = Workplace(self._opened_ledger(plan.plan))
        votes = voted(sharded, given.public, learner, place, n_classes, effort).tallies()
        pool = public_pool(given.public, given.schema, given.encoder, n_classes)
        asked = ask(votes, pool, plan, place.ledger, coins=self._coins())

        def train() -> Student:
            return replace(self._student(given, given.public, asked.codes, "auto"), strategy=active.name)

        return Made(plan.plan, asked.labelled, train)

    def _selected(self, given: Given, request: Request, key: ShardKey) -> Made:
        """Try every method of a short list, and keep what units that none of them saw choose privately."""
        coins = self._coins()
        learners = Learners(self.learner, self.student, self.strategy, self.time_limit, self.n_jobs)
        method = selection_of(given, request, learners, key, coins)
        work = method.on(given.table)
        made = work(Workplace(self._opened_ledger(method.plan)))
        train = made.train
        if train is None:  # no label was released; say so as a student of none does
            train = partial(self._student, given, given.public, made.labelled.labels)
        return Made(method.plan, made.labelled, train)

    def _labelled(self, given: Given, request: Request, key: ShardKey) -> Made:
        """Let teachers vote on the public rows."""
        plan, learner = self._planned(given, request, n_rows(given.public))
        sharded = shards(given.table, key, plan.plan.n_teachers, request.adjacency)
        place, effort = Workplace(self._opened_ledger(plan.plan)), Effort(self.n_jobs, self.time_limit)
        labelled = label(sharded, given.public, plan, learner, place, coins=self._coins(), effort=effort)
        return Made(plan.plan, labelled, partial(self._student, given, given.public, labelled.labels))

    def _counted(self, given: Given, request: Request, key: ShardKey, why: str) -> Made:
        """Count private rows in cells around the public ones."""
        request, own = sized(request, given), not (self.student is None or isinstance(self.student, str))
        encoder = None if own else given.encoder
        plan = planned_cells(request, given.public, given.schema, encoder, why=why)
        records = one_each(given.table, request, key)
        student_of = partial(
            train_on_cells,
            questions=given.public,
            request=request,
            schema=given.schema,
            learner=self.student,
            encoder=encoder,
        )
        place = Workplace(self._opened_ledger(plan.plan))
        counted = count(records, given.public, plan, key, place, coins=self._coins(), student_of=student_of)
        if counted.warning is not None:
            warnings.warn(counted.warning, stacklevel=4)
        return Made(plan.plan, counted.labelled, partial(student_of, counted.rounds))

    def _rehearse_student(self, given: Given) -> None:
        """Refuse, before anything is spent, a student that cannot learn from such rows."""
        strategy_of(self.strategy, given.schema)
        if self.student is not None:
            some = take(given.public, np.arange(min(REHEARSED_ROWS, n_rows(given.public)), dtype=np.int64))
            made_up = np.arange(n_rows(some), dtype=np.int32) % len(given.classes)
            self._student(given, some, made_up)

    def _student(self, given: Given, questions: Rows, labels: Labels, strategy: Any = None) -> Student:
        return train_student(
            questions,
            labels,
            classes=names_of(given.classes),
            learner=self.student,
            strategy=self.strategy if strategy is None else strategy,
            schema=given.schema,
            encoder=given.encoder,
        )
