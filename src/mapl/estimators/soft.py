"""The soft classifier: probabilities learned from private rows, by a student that may be published."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.errors import InvalidParameter
from mapl.estimators.private_estimator import GivenCase
from mapl.estimators.teaching_estimator import TeachingEstimator
from mapl.estimators.wording import in_python_words
from mapl.pipeline.methods.method import Results
from mapl.pipeline.methods.soft import DEFAULT_SCORER, SoftLesson
from mapl.pipeline.votes.soft_labelling import SOFT
from mapl.students.lesson import nothing_to_learn

RELEASES = {"means": SOFT, "medians": f"{SOFT}-medians", "both": f"{SOFT}-both"}


@dataclass(eq=False, repr=False)
class PrivateSoftClassifier(ClassifierMixin, TeachingEstimator):  # type: ignore[misc]
    """Learn probabilities of classes from private rows: teachers score public rows, a student learns from that.

    Parameters
    ----------
    learner
        Who teaches: a preset or estimator that tells probabilities, or a function ``train(X, y)`` that returns one
        from rows to probabilities of the second class, or to a column for each class if there are more than two.
    release
        What is released of the teachers' scores on a public row: "means", their sum with Gaussian noise, for every
        row and, of more than two, every class; "medians", the rounded median where it is stable; "both", medians
        and means for what they refuse. Medians are for two classes.
    mechanism, settings
        Medians: the mechanism ("auto" is the ladder) and ``{"max_abstentions": T}``.
    student
        Who learns from the released probabilities: None for logistic regression, or, of two classes, an unfitted
        regressor.
    epsilon, delta, classes, label_values, n_teachers, n_rows, adjacency, n_queries, time_limit, n_jobs, engine,
    schema, ledger, earlier, seed
        As in `PrivateClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, plan_, statement_, student_
        As in `PrivateClassifier`.
    released_
        For every question the released probability of the second of two classes, or of all of more, nan for none.
        Noise takes some below 0 or above 1.

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

    learner: Any = DEFAULT_SCORER
    _: KW_ONLY
    release: str = "means"
    student: Any = None
    earlier: Any = None

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
        learned = self._learn(self._given(X, y, public, groups, truth=public_y), RELEASES[self.release])
        if learned.student is None:
            raise nothing_to_learn(learned.labelled.n_questions)
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

    def _released(self, given: GivenCase, results: Results) -> dict[str, Any]:
        lesson: SoftLesson | None = results.lesson
        values = np.full(results.labelled.n_questions, np.nan) if lesson is None else lesson.values
        return {"classes_": given.classes, "released_": values}
