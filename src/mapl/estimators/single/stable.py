"""The stable face: no one record, and hence no planted one, moves the chance of an answer by more than gamma."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NoReturn, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.estimators.single.single_answers import NeverPredicts, Sample
from mapl.estimators.wording import in_python_words
from mapl.prediction.candidates.candidates import Candidates, Cover, Trained
from mapl.prediction.hypotheses import Selection
from mapl.prediction.predictors.confidence import Confidence
from mapl.prediction.predictors.stable import StablePredictor
from mapl.prediction.predictors.stable_settings import MOST_RECORDS, StableSettings, for_stability
from mapl.prediction.prices.poisoning import stable_bound
from mapl.types import positive_integer


@dataclass(eq=False, repr=False)
class StableClassifier(NeverPredicts):
    """Answer questions so that replacing any one training record moves the chance of no answer by more than gamma.

    Parameters
    ----------
    hypotheses
        As in `PrivatePredictor`.
    gamma
        The stability, between 0 and 1. k planted records move a chance by at most ``poisoned(k)``, about k gamma.
    classes
        The two declared classes, or "labels".
    label_values
        What labels mean that are no names of classes, as in `PrivateClassifier`.
    train
        A function ``train(X, y, seed) -> models`` that makes candidates of a random subset of the rows, instead of
        the rules of `hypotheses`; y is 0 or 1. Stability needs nothing else of it than that models label by the row
        alone, accuracy is up to it. Models are asked row by row: an answer takes a call for every distinct row.
    adjacency
        "replace-one" or "add-remove": whether an adversary changes records, or adds and removes them.
    by
        "exponential", or "permute-and-flip": better at the same rate, but gamma allows it half the rate only.
    n_rows
        With "add-remove", where it is needed: about how many records there are, as far as the public knows.
    seed
        Seeded coins, for tests: who knows them knows which records decide.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in `PrivateClassifier`.
    stability_, promise_
        The exact gamma of the fitted classifier, and what is promised in words.

    Notes
    -----
    *Guarantee.* Uniform stability: Theorems 1 and 4 of docs/proofs/stable-prediction.md; of `confidence`, Theorem 5
    of docs/proofs/prediction-composition.md. This is no differential privacy; for that take a `PrivatePredictor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mapl import StableClassifier
    >>> X = np.random.default_rng(0).uniform(size=(400, 1))
    >>> clf = StableClassifier("thresholds", gamma=0.1, classes=(0, 1)).fit(X, X[:, 0] > 0.5)
    >>> clf.answer([[0.02], [0.98]]).tolist(), clf.stability_ <= 0.1, clf.poisoned(3) <= 0.3
    ([0, 1], True, True)
    """

    spends = False

    hypotheses: Any = "stumps"
    _: KW_ONLY
    gamma: float = 0.1
    classes: Any = None
    label_values: Any = None
    train: Any = None
    adjacency: str = "replace-one"
    by: str = "exponential"
    n_rows: int | None = None
    seed: int | None = None

    @in_python_words()
    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows; a subset and a rule are drawn anew for every question."""
        sample = self._sample(X, y)
        if self.train is not None and not callable(self.train):
            raise InvalidParameter("train is no function; give train(X, y, seed) -> list of models, or None.")
        candidates: Candidates = Cover(sample.hypotheses) if self.train is None else Trained(self.train)
        found = self._settings(sample)
        self._coins_in_use = self._coins()
        self._predictor = StablePredictor.fit(
            sample.points, sample.ones, candidates, subset=found.subset, rate=found.rate, by=found.by
        )
        self._confidence: Confidence | None = None
        self.classes_ = sample.classes
        self.stability_, self.promise_ = self._predictor.stability, self._predictor.promise
        return self

    @in_python_words()
    def answer(self, X: Any) -> NDArray[Any]:
        """Return a class for every row, drawn with fresh coins: asked again, it may be another one."""
        check_is_fitted(self, "classes_")
        questions = self._questions(X)
        labels = [self._predictor.answer(row, self._coins_in_use) for row in questions]
        return np.asarray(self.classes_[np.array(labels, dtype=np.int64)])

    @in_python_words()
    def confidence(self, X: Any) -> NDArray[np.float64]:
        """Return for every row a confidence in the second of `classes_`, itself gamma-stable; the same every time.

        It is the mean chance of that answer over disjoint subsets of the records, so no one record decides much.
        """
        check_is_fitted(self, "classes_")
        questions = self._questions(X)
        if self._confidence is None:
            self._confidence = Confidence.of(self._predictor, self.gamma, self._coins_in_use)
        return np.array([self._confidence.at(row) for row in questions])

    def poisoned(self, k: int) -> float:
        """Return by how much k records that an adversary chose, replaced or added, move a chance at most."""
        check_is_fitted(self, "classes_")
        positive_integer(k=k)
        k = min(k, MOST_RECORDS)
        return min(self._predictor.stability_against(k), stable_bound(k, self.stability_))

    def predict_proba(self, X: Any) -> NoReturn:
        """Refuse: see `confidence`."""
        check_is_fitted(self, "classes_")
        raise GuaranteeBroken(
            "StableClassifier has no predict_proba; confidence(X) is a chance that is gamma-stable itself, and "
            "answer(X) draws with fresh coins."
        )

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_predictor"):
            raise GuaranteeBroken(
                "A fitted StableClassifier is never copied or pickled: it holds the rows it was fitted on and its "
                "coins, and coins that are drawn twice are not fresh. Fit a clone instead."
            )
        state: dict[str, Any] = super().__getstate__()
        return state

    def _settings(self, sample: Sample) -> StableSettings:
        n = self._n_records(sample)
        if n is None:
            raise InvalidParameter(
                "If records are added or removed, their number is private, and stable answers are tuned by it; "
                "declare n_rows, about how many there are as far as the public knows, or take replace-one."
            )
        if self.by not in get_args(Selection):
            raise InvalidParameter(f"by is {self.by!r}; choose one of {', '.join(get_args(Selection))}.")
        by = cast(Selection, self.by)
        return for_stability(n, self.gamma, sample.hypotheses, adjacency=self._neighbours(), by=by)
