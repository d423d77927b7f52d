"""The soft classifier: probabilities learned from private rows, by a student that may be published."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.data.encoding import for_teachers, sees_spectral
from mapl.data.rows import n_rows
from mapl.errors import InvalidParameter
from mapl.estimators.face import UNIT_OF_GROUPS, Given, PrivateEstimator, sized
from mapl.estimators.given import codes, labels, names_of
from mapl.estimators.wording import in_python_words
from mapl.pipeline.by_soft import DEFAULT_SCORER, refuse_unfit_student, spread_on
from mapl.pipeline.inputs import split_label_private
from mapl.pipeline.label import Effort, Workplace, shards
from mapl.pipeline.request import Request
from mapl.pipeline.soft import DESIGNS, SOFT, planned_soft, soft_label, targets_of
from mapl.release.soft_labels import MEDIANS
from mapl.students.soft import train_soft_student
from mapl.teachers import Learner, as_learner, rehearse
from mapl.teachers.scores import score_learner
from mapl.types import Budget

RELEASES = {"means": SOFT, "medians": f"{SOFT}-medians", "both": f"{SOFT}-both"}


class PrivateSoftClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Learn probabilities of two classes from private rows: teachers score public rows, a student learns from that.

    Parameters
    ----------
    learner
        Who teaches: a preset or estimator that tells probabilities, or a function ``train(X, y)`` that returns one
        from rows to probabilities of the second class.
    release
        What is released of the teachers' scores on a public row: "means", their sum with Gaussian noise, for every
        row; "medians", the rounded median where it is stable; "both", medians and means for what they refuse.
    mechanism, settings
        Medians: the mechanism ("auto" is the ladder) and ``{"max_abstentions": T}``.
    student
        Who learns from the released probabilities: None for logistic regression, or an unfitted regressor.
    epsilon, delta, classes, n_teachers, n_rows, adjacency, n_queries, time_limit, n_jobs, ledger, seed
        As in `PrivateClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, plan_, statement_, student_
        As in `PrivateClassifier`.
    released_
        For every question the released probability of the second class, nan for none. Noise takes some below 0 or
        above 1.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for the adjacency and unit in ``statement_``, of everything
    in the attributes. Proof: docs/proofs/soft-labels.md.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivateSoftClassifier
    >>> world = np.random.default_rng(0)
    >>> X, public = world.normal(size=(4000, 3)), world.normal(size=(200, 3))
    >>> y = world.random(4000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> clf = PrivateSoftClassifier(epsilon=2.0, delta=1e-6, classes=(False, True), n_teachers=100, n_jobs=1)
    >>> shares = clf.fit(X, y, public=public).predict_proba([[-2.0, 0, 0], [0, 0, 0], [2.0, 0, 0]])[:, 1]
    >>> bool(shares[0] < shares[1] < shares[2]), clf.statement_.guaranteed_epsilon <= 2.0
    (True, True)
    """

    def __init__(
        self,
        learner: Any = DEFAULT_SCORER,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: Any = None,
        release: str = "means",
        n_teachers: int | str = "auto",
        n_rows: int | None = None,
        adjacency: str = "add-remove",
        mechanism: str = "auto",
        settings: dict[str, Any] | None = None,
        n_queries: int | None = None,
        student: Any = None,
        time_limit: float | None = None,
        n_jobs: int = -1,
        ledger: Any = None,
        seed: int | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.release = release
        self.n_teachers = n_teachers
        self.n_rows = n_rows
        self.adjacency = adjacency
        self.mechanism = mechanism
        self.settings = settings
        self.n_queries = n_queries
        self.student = student
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.ledger = ledger
        self.seed = seed

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None, public_y: Any = None) -> Self:
        """Train teachers on private rows, release what their scores on public ones allow, train the student.

        Parameters
        ----------
        X, y, public, groups
            As in `PrivateClassifier.fit`.
        public_y
            Public labels of the public rows, where there are any: they tell how far teachers' scores spread, and so
            how medians are rounded. Nothing else is learned from them.
        """
        if self.release not in RELEASES:
            raise InvalidParameter(f"release is {self.release!r}; choose one of {', '.join(RELEASES)}.")
        given = self._given(X, y, public, groups)
        if len(given.classes) != 2:
            raise InvalidParameter(
                f"Only binary classification is supported. There are {len(given.classes)} classes; soft labels are "
                "probabilities of the second of two. Declare two, or take PrivateClassifier."
            )
        key = self._key()
        if public is None:
            teaching, questions = split_label_private(given.table, key)
            given = replace(given, table=teaching, public=questions)
        classes = names_of(given.classes)
        learner = self._learner(given)
        student_of = partial(
            train_soft_student, classes=classes, learner=self.student, schema=given.schema, encoder=given.encoder
        )
        refuse_unfit_student(student_of, given.public)
        rehearse(learner, given.public, len(classes), n_jobs=self.n_jobs, time_limit=self.time_limit)
        request = self._request(given)
        request = request if request.n_teachers is not None else sized(request, given)
        strategy = RELEASES[self.release]
        spread = self._spread(learner, given, request, public_y) if MEDIANS in DESIGNS[strategy] else None
        plan = planned_soft(request, n_rows(given.public), strategy, spread=spread)
        if plan.warning:
            warnings.warn(plan.warning, stacklevel=2)
        sharded = shards(given.table, key, plan.plan.n_teachers, request.adjacency)
        place, effort = Workplace(self._opened_ledger(plan.plan)), Effort(self.n_jobs, self.time_limit)
        made = soft_label(sharded, given.public, plan, learner, place, coins=self._coins(), effort=effort)
        # What was paid for is kept even if no student can learn from it.
        self.classes_, self.plan_, self.statement_ = given.classes, plan.plan, made.labelled.statement
        self.released_, spreads = targets_of(made)
        self.student_ = student_of(given.public, self.released_, spreads=spreads)
        return self

    @in_python_words()
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every row and class. Free: it follows from what was released."""
        check_is_fitted(self, "student_")
        return self.student_.predict_proba(self._rows(X, reset=False))

    @in_python_words()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class of every row. Free."""
        check_is_fitted(self, "student_")
        return np.asarray(self.classes_[self.student_.predict_codes(self._rows(X, reset=False))])

    def _request(self, given: Given) -> Request:
        return Request(
            Budget(self.epsilon, self.delta),
            names_of(given.classes),
            n_teachers=None if self.n_teachers == "auto" else self.n_teachers,  # type: ignore[arg-type]
            n_rows=self.n_rows,
            mechanism=self.mechanism,
            settings=self.settings or {},
            n_queries=self.n_queries,
            adjacency=self.adjacency,  # type: ignore[arg-type]
            unit=None if given.table.unit_ids is None else UNIT_OF_GROUPS,
            spectral=sees_spectral(self.learner, given.encoder),
        )

    def _learner(self, given: Given) -> Learner:
        classes = names_of(given.classes)
        teacher = DEFAULT_SCORER if self.learner is None else self.learner
        return score_learner(as_learner(teacher, classes, given.schema, for_teachers(given.encoder)), classes)

    def _spread(self, learner: Learner, given: Given, request: Request, public_y: Any) -> float | None:
        if public_y is None:
            return None
        truth = codes(labels(public_y), given.classes)
        if len(truth) != n_rows(given.public):
            raise InvalidParameter(
                f"There are {len(truth)} labels in public_y and {n_rows(given.public)} public rows; give one each."
            )
        return spread_on(learner, given.public, truth, request, n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
