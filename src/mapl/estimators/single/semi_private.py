"""The semi-private face: public rows list the rules, one private draw picks one, and predictions are free."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mapl.estimators.single.single_answers import AnswersSingly
from mapl.estimators.wording import in_python_words
from mapl.prediction.spending.statement import state_drawn_rule


@dataclass(eq=False, repr=False)
class SemiPrivateClassifier(ClassifierMixin, AnswersSingly):  # type: ignore[misc]
    """Release one rule of a class, drawn by its errors on private rows among those that public rows tell apart.

    Parameters
    ----------
    hypotheses, classes, label_values, adjacency, ledger, seed
        As in `PrivatePredictor`.
    epsilon, delta
        The budget of the one release, which is purely epsilon-private; a delta may be allowed and buys nothing.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, plan_, statement_
        As in `PrivateClassifier`.

    Notes
    -----
    *Guarantee.* Pure epsilon-differential privacy of everything that is predicted, and of a pickled classifier, for
    one private record; public rows are not protected. Theorem 8 of docs/proofs/stable-prediction.md.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import SemiPrivateClassifier
    >>> world = np.random.default_rng(0)
    >>> X, public = world.uniform(size=(2000, 1)), world.uniform(size=(50, 1))
    >>> clf = SemiPrivateClassifier("thresholds", epsilon=1.0, classes=(0, 1)).fit(X, X[:, 0] > 0.5, public=public)
    >>> clf.predict([[0.1], [0.9]]).tolist()
    [0, 1]
    """

    hypotheses: Any = "stumps"
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0
    classes: Any = None
    label_values: Any = None
    adjacency: str = "replace-one"
    ledger: Any = None
    seed: int | None = None

    @in_python_words()
    def fit(self, X: Any, y: Any, *, public: Any) -> Self:
        """Release a rule; this spends the whole budget.

        Parameters
        ----------
        public
            Public rows with the same columns as X; labels are not needed.
        """
        sample = self._sample(X, y)
        rows = self._points(public, "public rows", reset=False)
        ledger, coins = self._new_ledger(), self._coins()
        self.plan_, self._drawn = self._released(sample, rows, ledger, coins)
        self.statement_ = state_drawn_rule(
            self.plan_, coins, adjacency=self._drawn.adjacency, ledger_head=ledger.head
        ).recorded_by(ledger)
        self.classes_ = sample.classes
        return self

    @in_python_words()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row by the released rule. Free."""
        check_is_fitted(self, "classes_")
        return np.asarray(self.classes_[self._drawn.predict(self._questions(X))])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
