"""The classifier: from private rows and public ones to a student that may be published."""

from __future__ import annotations

from collections.abc import Mapping
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
from mapl.parameters import spell
from mapl.pipeline.methods.method import Results
from mapl.students.lesson import nothing_to_learn
from mapl.students.probabilities.aim import Aim


@dataclass(eq=False, repr=False)
class PrivateClassifier(ClassifierMixin, TeachingEstimator):  # type: ignore[misc]
    """Learn a classifier from private rows that may be published, by noisy sums, by teachers that vote or by cells.

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
    label_values
        What labels mean that are no names of classes, such as ``{0: "no", 1: "yes"}``. Rows with other labels are
        left out without a word, whatever the type of y: which type that is all rows decide together, so a refusal
        would tell of one. Look first with `mapl.check_labels`.
    method
        "moments", which adds up short vectors of private rows; "teachers"; "cells", which counts private rows in
        cells around public ones; "auto": by public facts, and whatever only one of them has, such as a learner,
        decides; or a short list of which one is chosen privately, such as "select:moments,cells" (as in ``mapl
        learn``).
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
    metric, class_weight
        What the student is to be good at: "accuracy", "balanced" (every class counts the same, however rare) or
        "auc" (its probabilities); and what classes weigh where it decides, such as ``{"yes": 5}``. Probabilities
        are the same whatever is asked for.
    time_limit, n_jobs
        Seconds that a teacher may compute, None for any number; how many train at once, -1 for one per processor.
    engine
        Where they are trained, and rows counted: "local", "dask" or "ray", or a running cluster such as
        "dask://host:8786" (docs/clusters.md). No result depends on it.
    schema
        What the columns are, a `Schema`; None drafts one from the public rows. `mapl.data.draft_schema` makes other
        drafts: ``draft_schema(public, drop=["row"], categories=["zip"])``.
    ledger
        Where the spending is recorded, such as a new `SqliteLedger`; in memory if None. A ledger serves one fit.
    earlier
        What else was learned from the same people: folders of runs of ``mapl learn``, fitted estimators, or a list
        of these. Then epsilon and delta are for all of them together, and this fit spends what is left, under the
        same adjacency and unit (groups are ids of the unit that they protect). No two fits or runs take the same
        rest: a fit notes itself in those folders, and of fitted estimators for as long as the process lives.
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
    an estimator can be cloned         not with a ledger, which exists once; and without a seed a clone refuses to
                                       be fitted: cross-validation and grid search would spend once per fold, and
                                       raise GuaranteeBroken before any spending
    an estimator can be fitted again   not with the same ledger: PlanMismatch; without one the second fit of a
                                       process warns, PrivacyWarning, of what all add up to (`mapl.people`)
    a Pipeline may scale before it     not by what it fits on private rows: GuaranteeBroken; scale in the learner
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

    learns_alone = True

    learner: Any = None
    _: KW_ONLY
    method: str = "auto"
    may_abstain: bool = False
    agreement: Any = None
    error_share: float = 0.0
    n_cells: int | None = None
    partition: str = "points"
    rounds: int = 1
    per_unit: str = "keyed"
    student: Any = None
    strategy: Any = "auto"
    metric: str = "accuracy"
    class_weight: Mapping[Any, float] | None = None
    earlier: Any = None

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Learn from private rows: what the budget pays for is released, and the student is made of that.

        Parameters
        ----------
        X, y
            Private rows and their labels: a matrix, a sparse matrix, lists, a pandas or polars DataFrame or a
            pyarrow Table.
        public
            Public rows in the same form and with the same columns; none where the adjacency is "labels", or where
            `schema` says all that is public.
        groups
            Whose each row is: the unit that is protected. Without groups every row is a unit; where public columns
            look like ids that has to be said, ``groups="none"``.
        """
        learned = self._learn(self._given(X, y, public, groups), self.strategy)
        if learned.student is None:
            raise nothing_to_learn(learned.labelled.n_questions)
        return self

    @in_python_words()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of every row. Free: it follows from what was released."""
        check_is_fitted(self, "student_")
        codes = self.student_.predict_codes(self._rows(X, reset=False))
        return np.asarray(self.classes_[codes])

    @in_python_words()
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a probability for every row and class. Free."""
        check_is_fitted(self, "student_")
        return self.student_.predict_proba(self._rows(X, reset=False))

    def _released(self, given: GivenCase, results: Results) -> dict[str, Any]:
        return {**super()._released(given, results), "error_rate_": results.labelled.error_rate}

    def _aim(self) -> Aim:
        weights = self.class_weight or {}
        if not isinstance(weights, Mapping):
            raise InvalidParameter(
                f"class_weight is {weights!r}; give weights by class, such as {{'yes': 5}}, or None; "
                f"{spell('metric', 'balanced')} weighs classes by their shares."
            )
        return Aim(self.metric, {str(name): weight for name, weight in weights.items()})

    def _more_settings(self) -> dict[str, Any]:
        return {
            **super()._more_settings(),
            "error_share": self.error_share,
            "method": self.method,
            "n_cells": self.n_cells,
            "partition": self.partition,
            "rounds": self.rounds,
            "per_unit": self.per_unit,
            "aim": self._aim(),
        }
