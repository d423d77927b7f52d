"""What the faces of single answers share: reading rows of numbers and two classes, and refusing to predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from mapl.data.reading.entries import numbers
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import check_rows, column, is_sparse, names
from mapl.data.tables.table import PrivateTable, fill_labels, leave_out_unlabelled
from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.estimators.guard.earlier_fits import Fit
from mapl.estimators.guard.guarded import Guarded
from mapl.estimators.handed_over import codes, declare_classes, is_array_like, labels, matrix, names_of
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.planning.plan import Plan
from mapl.prediction.class_names import hypotheses_of
from mapl.prediction.hypotheses import HypothesisClass
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.predictors.semi_private import SemiPrivate
from mapl.prediction.prices.padded_stumps import refuse_unknown
from mapl.prediction.spending.one_rule import draw_once, plan_of_release
from mapl.release import Ledger, Limits, MemoryLedger
from mapl.types import RECORD, Budget, Labels, RecordAdjacency, Silent

TWO = 2
NO_PREDICT = (
    "{face} has no predict: every answer is drawn with fresh coins, and predicting must not draw by surprise. Ask "
    "with answer(X)."
)
PRIVATE_LAW = (
    "The chances of answers are private: they are computed from private records without noise, and only answers "
    "drawn from them are protected. Ask with answer(X)."
)


@dataclass(frozen=True, slots=True, repr=False)
class Sample(Silent):
    """Private rows as numbers, and which of the two classes each has."""

    points: Points
    ones: Labels
    classes: NDArray[Any]
    hypotheses: HypothesisClass


class AnswersSingly(Guarded):
    """An estimator between two declared classes, on rows of numbers, by a class of hypotheses."""

    def _sample(self, X: Any, y: Any) -> Sample:
        """Read what `fit` was given; nothing of it is quoted in an error."""
        self._refuse_surprise()
        points = self._points(X, "rows", reset=True)
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give one label per row."
            )
        cells = labels(y)
        classes = declare_classes(self.classes, cells)
        if len(classes) != TWO:
            raise InvalidParameter(
                f"There are {len(classes)} classes; single answers are between two. Merge some, or take a "
                "PrivateClassifier, which has teachers and cells for any number."
            )
        ones = codes(cells, classes, self.label_values)
        if len(ones) != len(points):
            raise InvalidData("X and y have different lengths; give one label for each row.")
        told = PrivateTable(PrivateRows(points), ones)  # where the number of records is public, none may vanish
        told = fill_labels(told) if self._neighbours() == "replace-one" else leave_out_unlabelled(told)
        points, ones = np.asarray(told.rows.open()), told.labels
        return Sample(points, ones, classes, hypotheses_of(self.hypotheses, points.shape[1]))

    def _points(self, X: Any, what: str, *, reset: bool) -> Points:
        """Return rows as floats, one column per feature, and remember or compare the columns."""
        if is_array_like(X):
            how = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
            cells = validate_data(self, matrix(X, what, public=not reset), reset=reset, **how)
            return np.asarray(cells.toarray() if is_sparse(cells) else cells, dtype=np.float64)
        rows = check_rows(X, what)
        validate_data(self, rows, reset=reset, skip_check_array=True)
        columns: list[NDArray[Any]] = []
        for name in names(rows) or ():
            try:
                columns.append(np.asarray(numbers(column(rows, name)), dtype=np.float64))
            except Exception:  # whatever it complains about may quote a cell
                raise InvalidData(
                    f"Column {name!r} of the {what} is not made of numbers; encode it by a rule that no private "
                    "row decides, or leave it out."
                ) from None
        return np.column_stack(columns)

    def _questions(self, X: Any) -> Points:
        """Return questions with the columns of the private rows; gaps are read as in these (`as_filled`)."""
        return self._points(X, "questions", reset=False)

    def _neighbours(self) -> RecordAdjacency:
        """Return the adjacency, if it is one that single answers know."""
        refuse_unknown(self.adjacency)
        return cast(RecordAdjacency, self.adjacency)

    def _n_records(self, sample: Sample) -> int | None:
        """Return the number of records where it is public, else what was declared about it."""
        if self._neighbours() == "replace-one":
            return len(sample.points)
        n_rows: int | None = self.n_rows
        return n_rows

    def _coins(self) -> Coins:
        if self.seed is None:
            return SystemCoins()
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or not 0 <= self.seed < 2**64:
            raise InvalidParameter("seed must be a whole number from 0 to 2**64 - 1, or None for true coins.")
        return SeededCoins(int(self.seed))

    def _new_ledger(self) -> Ledger:
        if self.ledger is not None and not hasattr(self.ledger, "progress"):
            raise InvalidParameter(
                f"ledger is of type {type(self.ledger).__name__}; give a ledger, such as "
                "mapl.SqliteLedger(path), or None for one in memory."
            )
        return MemoryLedger() if self.ledger is None else self.ledger

    def _open_ledger(self, ledger: Ledger, plan: Plan, sample: Sample) -> None:
        """Begin to spend by a plan; all that can be refused or warned of was so before."""
        self._told_of_sum(Fit(plan.budget, self.adjacency, RECORD))
        ledger.open(plan.digest, Limits.of_plan(plan), fresh=True)

    def _released(self, sample: Sample, public: Points, ledger: Ledger, coins: Coins) -> tuple[Plan, SemiPrivate]:
        """Release one hypothesis of those that the public rows tell apart; it is on record on return."""
        budget, names = Budget(self.epsilon, self.delta), names_of(sample.classes).names
        adjacency = self._neighbours()
        plan = plan_of_release(budget, sample.hypotheses, adjacency, names, len(public))
        self._open_ledger(ledger, plan, sample)
        drawn = draw_once(
            sample.points,
            sample.ones,
            sample.hypotheses,
            public=public,
            plan=plan,
            adjacency=adjacency,
            ledger=ledger,
            coins=coins,
        )
        return plan, drawn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True  # a private cell that is refused would tell of itself
        tags.input_tags.sparse = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.non_deterministic = self.seed is None
        return tags


class NeverPredicts(AnswersSingly):
    """A face whose answers are drawn anew, or paid for, so that nothing may call for them by surprise."""

    def predict(self, X: Any) -> NoReturn:
        """Refuse; see `answer`."""
        check_is_fitted(self, "classes_")
        raise GuaranteeBroken(NO_PREDICT.format(face=type(self).__name__))

    def predict_proba(self, X: Any) -> NoReturn:
        """Refuse: chances are private; see `answer`."""
        check_is_fitted(self, "classes_")
        raise GuaranteeBroken(PRIVATE_LAW)
