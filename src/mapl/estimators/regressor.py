"""The regressor: from private rows whose labels are numbers to a student that may be published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mapl.data.tables.number_range import NumberRange
from mapl.errors import InvalidParameter
from mapl.estimators.private_estimator import GivenCase, PrivateEstimator
from mapl.estimators.wording import in_python_words
from mapl.pipeline.methods.method import Results


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Learn from private rows to predict a number of a declared range, by noisy sums; the model may be published.

    Parameters
    ----------
    low, high
        The public range of the label: what lies beyond it is cut off there. Declare it by what anybody knows of
        such numbers, never by looking at private ones; a range twice as wide as need be costs little.
    epsilon, delta
        The budget of one `fit`. Every `fit` on the same people spends anew, and the budgets add up.
    n_rows
        About how many units there are, as far as the public knows; None where that is not declared.
    adjacency
        What is hidden: "add-remove" (whether a unit is in the table at all), "replace-one" (what its rows say;
        needs groups), or "labels": the features are public, and `fit` takes no public rows.
    schema
        What the columns are, a `Schema`; None drafts one from the public rows.
    ledger
        Where the spending is recorded, such as a new `SqliteLedger`; in memory if None. A ledger serves one fit.
    earlier
        What else was learned from the same people, as in `PrivateClassifier`.
    seed
        Seeded coins, for tests: fits are reproducible and NOT PRIVATE.

    Attributes
    ----------
    student_
        The published model; `mapl.students.save` writes it to a file.
    statement_
        The privacy statement.
    plan_
        What was fixed before a private row was read.

    Notes
    -----
    *Guarantee.* (epsilon, delta)-differential privacy for one unit of `groups`, or one row, under the adjacency of
    the statement. Proof: docs/proofs/moments.md. A row whose label is no number is left out, by that row alone.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import PrivateRegressor
    >>> world = np.random.default_rng(0)
    >>> X, public = world.normal(size=(4000, 3)), world.normal(size=(200, 3))
    >>> model = PrivateRegressor(low=-10, high=10, epsilon=2.0, delta=1e-6).fit(X, 2 * X[:, 0], public=public)
    >>> bool(model.score(public, 2 * public[:, 0]) > 0.8)
    True
    >>> model.statement_.guaranteed_epsilon <= 2.0
    True
    """

    learns_alone = True

    low: float | None = None
    high: float | None = None
    delta: float = 1e-6
    earlier: Any = None

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any = None, groups: Any = None) -> Self:
        """Add up short vectors of private rows, and make a linear model of the noisy sums.

        Parameters
        ----------
        X, y
            Private rows and their labels, one number each.
        public
            Public rows in the same form and with the same columns; none where the adjacency is "labels", or where
            `schema` says all that is public.
        groups
            Whose each row is: the unit that is protected. Without groups every row is a unit; where public columns
            look like ids that has to be said, ``groups="none"``.
        """
        self._learn(self._given(X, y, public, groups))
        return self

    def _released(self, given: GivenCase, results: Results) -> dict[str, Any]:
        return {}  # sums, of which the model is made

    @in_python_words()
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted number of every row. Free: it follows from what was released."""
        check_is_fitted(self, "student_")
        return self.student_.predict_numbers(self._rows(X, reset=False))

    def _number_range(self) -> NumberRange:
        if self.low is None or self.high is None:
            raise InvalidParameter(
                "low and high are the public range of the label, and mapl never reads it off private labels: the "
                "largest one would give its holder away. Declare both, for example low=0, high=100."
            )
        return NumberRange(self.low, self.high)

    def _more_settings(self) -> dict[str, Any]:
        return {"method": "moments"}
