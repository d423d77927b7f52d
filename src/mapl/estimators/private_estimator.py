"""What the faces share that learn: how they read rows and labels, and what they ask of the pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from mapl.data.drafts.draft_notices import notices_of
from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.reading.conform import conform
from mapl.data.tables.number_range import END_NAMES, NumberRange, label_numbers
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, check_rows, is_matrix, n_rows
from mapl.data.tables.schema import Schema
from mapl.data.tables.table import PrivateTable, leave_out_unlabelled, leave_out_unowned
from mapl.data.units.id_columns import NO_UNIT, list_suspects
from mapl.data.units.shards import ShardKey
from mapl.data.units.unit_names import unit_names
from mapl.errors import InvalidData, InvalidParameter, PrivacyWarning
from mapl.estimators.earlier import Earlier, name_of
from mapl.estimators.guard.earlier_fits import Fit, levels_to_caller
from mapl.estimators.guard.guarded import Guarded
from mapl.estimators.handed_over import (
    codes,
    codes_of_public,
    declare_classes,
    is_array_like,
    labels,
    matrix,
    names_of,
    refuse_other_kind,
)
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.pipeline.case import Case, Declared, PublicRows
from mapl.pipeline.learn import Learned, learn
from mapl.pipeline.learners import Learners
from mapl.pipeline.methods.method import Method, Results
from mapl.pipeline.place import MemoryPlace
from mapl.pipeline.request import Request
from mapl.pipeline.runs.inputs import split_label_private
from mapl.pipeline.watch import Watch
from mapl.planning.plan import Plan
from mapl.release import Ledger, MemoryLedger
from mapl.types import RECORD, Adjacency, Budget, Labels, Silent

LABEL = "label"
"""How settings call the labels of a fit, which have no column."""

UNIT_OF_GROUPS = "group"
"""How statements call the unit of rows that came with groups."""


@dataclass(frozen=True, slots=True, repr=False)
class GivenCase(Silent):
    """A case made of what `fit` was given, and the classes as scikit-learn keeps them."""

    case: Case
    classes: NDArray[Any]


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateEstimator(Guarded):
    """An estimator that learns from private rows. Its settings are public, and so is its repr."""

    learns_alone = False
    """Whether there is a way to learn by a schema, without public rows."""

    epsilon: float = 1.0
    delta: float = 1e-5
    n_rows: int | None = None
    adjacency: Adjacency = "add-remove"
    engine: str = "local"
    schema: Any = None
    ledger: Any = None
    seed: int | None = None

    def _given(
        self,
        X: Any,
        y: Any,
        public: Any,
        groups: Any,
        *,
        several: NDArray[Any] | None = None,
        truth: Any = None,
    ) -> GivenCase:
        """Read everything that `fit` was given, and refuse what does not fit together.

        Parameters
        ----------
        several
            All labels of each row, where there are several and `y` is the first one.
        truth
            Public labels of the public rows, where there are any.
        """
        self._refuse_surprise()
        alone = public is None and self.adjacency != "labels"
        if public is not None and self.adjacency == "labels":
            raise InvalidParameter(
                'There are public rows, and adjacency="labels" says that the features are public themselves; give '
                "one of the two."
            )
        if public is not None and public is X:
            raise InvalidParameter(
                "The public rows are the private ones themselves; what is made of them would not be protected. "
                "Give rows of other people that may be known to anybody. Nothing was spent."
            )
        if alone and not (self.learns_alone and self.schema is not None):
            declared = ", or schema=Schema(...), what the columns are" if self.learns_alone else ""
            raise InvalidParameter(
                f'Public rows are needed: give fit(X, y, public=rows){declared}, or adjacency="labels" where the '
                "features are public themselves."
            )
        rows = self._rows(X, reset=True)
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give one label per row."
            )
        column = labels(y)
        number_range = self._number_range()
        if number_range is None:
            known = declare_classes(self.classes, column)
            numbers: NDArray[Any] = codes(column, known, self.label_values)
        else:
            known, numbers = np.array(END_NAMES), label_numbers(column, number_range)
        if several is not None:
            each = (codes(several[:, j], known, self.label_values) for j in range(several.shape[1]))
            numbers = np.stack(list(each), axis=1)
        no_unit = isinstance(groups, str) and groups == NO_UNIT
        if isinstance(groups, str) and not no_unit:
            raise InvalidParameter(
                f"groups is {groups!r}, a word; give one id for each row, such as X[{groups!r}] of a data frame, "
                f"or groups={NO_UNIT!r} where every record stands for itself."
            )
        ids = None if groups is None or no_unit else unit_names(groups)
        asked = rows if public is None else _readable(public, "public rows")
        refuse_other_kind(asked, rows, "public rows", "private ones")
        schema, notices = self._schema_of(asked, names_of(known).names if number_range is None else ())
        suspects = None if ids is not None or alone else list_suspects(asked, schema)
        rows = conform(rows, schema, "private rows")
        asked = rows if public is None else conform(asked, schema, "public rows", public=True)
        made_up = PublicRows.of_schema(schema, matrix=is_matrix(rows)) if alone else None
        table, key = leave_out_unowned(PrivateTable(PrivateRows(rows), numbers, ids)), ShardKey.of_seed(self.seed)
        if public is None and not alone:  # rows are split first, and then left out if they have no label
            table, asked = split_label_private(table, key)
        else:
            table = leave_out_unlabelled(table)
        unit = None if ids is None else UNIT_OF_GROUPS
        said = Declared(schema, LABEL, names_of(known), unit, no_unit, suspects, notices, number_range=number_range)
        known_labels = None if truth is None else _truth(truth, known, self.label_values, n_rows(asked))
        rows_asked = PublicRows(asked, known_labels) if made_up is None else made_up
        case = Case(said, rows_asked, lambda: table, key, self._coins())
        return GivenCase(case, known)

    def _number_range(self) -> NumberRange | None:
        """Return where labels go from and to, for a face whose labels are numbers."""
        return None

    def _schema_of(self, public: Rows, classes: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        """Return the schema that was given, or drafted from public rows, and what a draft left in doubt."""
        given = self.schema
        if given is None:
            drafted = draft_schema(public, classes=classes)
            return drafted, notices_of(public, drafted)
        if not isinstance(given, Schema):
            raise InvalidParameter(
                f"schema is of type {type(given).__name__}; give a Schema, such as mapl.data.draft_schema "
                "makes from public rows, or None."
            )
        return replace(given, label=None, unit=None, classes=classes), ()

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Check rows and remember their columns; tables keep their types, all else becomes a matrix of numbers."""
        if not is_array_like(X):
            rows = check_rows(X, "rows")
            validate_data(self, rows, reset=reset, skip_check_array=True)
            return rows
        how = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}  # no private cell is refused
        public = not reset or self.adjacency == "labels"
        checked: Rows = validate_data(self, matrix(X, "rows", public=public), reset=reset, **how)
        return checked

    def _request(self, given: GivenCase) -> Request:
        """Put the settings together, or refuse them; not every face has all of them."""
        unit, budget, earlier = given.case.declared.unit, Budget(self.epsilon, self.delta), self._earlier()
        together = None
        if earlier is not None:
            unit, together = earlier.unit_of(unit), earlier.runs.going_on(budget)
            earlier.runs.refuse_other(adjacency=self.adjacency, unit=RECORD if unit is None else unit)
            budget = earlier.runs.rest(epsilon=self.epsilon, delta=self.delta)
        return Request(
            budget,
            names_of(given.classes),
            n_rows=self.n_rows,
            adjacency=self.adjacency,
            unit=unit,
            number_range=given.case.declared.number_range,
            together=together,
            **self._more_settings(),
        )

    def _learn(
        self,
        given: GivenCase,
        strategy: Any = "auto",
        method_by: Callable[[Learners], Method[Any] | None] = lambda learners: None,
        **kept: Any,
    ) -> Learned:
        """Carry out a fit; what was paid for is kept, and what else is named, whatever fails or is warned of."""
        learners, place = self._learners(strategy), self._place()
        try:
            request, method = self._request(given), method_by(learners)
            return learn(given.case, request, learners, place, self._watch(), method=method)
        finally:
            if (results := place.results) is not None:
                paid = {"plan_": place.plan, "statement_": results.labelled.statement}
                for name, value in {**paid, **kept, **self._released(given, results)}.items():
                    setattr(self, name, value)
            if place.student is not None:
                self.student_ = place.student

    def _released(self, given: GivenCase, results: Results) -> dict[str, Any]:
        """Return what was released as attributes by name."""
        return {"classes_": given.classes, "released_": results.labelled.labels}

    def _earlier(self) -> Earlier | None:
        """Return the runs that this fit goes on from, where this face has such a parameter."""
        return Earlier.of(getattr(self, "earlier", None))

    def _more_settings(self) -> dict[str, Any]:
        """Return the settings of a request that not every face has."""
        return {}

    def _learners(self, strategy: Any = "auto") -> Learners:
        """Return who teaches and who learns, as far as this face lets one choose."""
        return Learners(strategy=strategy, engine=self.engine)

    def _place(self) -> MemoryPlace:
        """Return where a fit is carried out: in memory, with its spending in a ledger of its own."""

        def take_rest(plan: Plan, ledger: Ledger) -> None:
            if (earlier := self._earlier()) is not None:
                earlier.take_rest(plan, ledger, name_of(self, ledger.run_id))

        return MemoryPlace(lambda prepared: self._own_ledger(prepared.plan), take_rest)

    def _watch(self) -> Watch:
        """Pass warnings on to whoever called mapl."""

        def warn(words: str) -> None:
            warnings.warn(words, PrivacyWarning, stacklevel=levels_to_caller())

        return Watch(on_warning=warn)

    def _own_ledger(self, plan: Plan) -> Ledger:
        """Return the ledger of a fit; all that can be refused or warned of was so before."""
        if self.ledger is not None and not hasattr(self.ledger, "progress"):
            raise InvalidParameter(
                f"ledger is of type {type(self.ledger).__name__}; give a ledger, such as "
                "mapl.SqliteLedger(path), or None for one in memory."
            )
        self._told_of_sum(Fit(plan.budget, plan.adjacency, plan.unit))
        return MemoryLedger() if self.ledger is None else self.ledger

    def _coins(self) -> Coins:
        return SystemCoins() if self.seed is None else SeededCoins(self.seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.seed is None
        return tags


def _readable(given: Any, what: str) -> Rows:
    return check_rows(matrix(given, what, public=True) if is_array_like(given) else given, what)


def _truth(given: Any, classes: NDArray[Any], values: Any, n_public: int) -> Labels:
    truth = codes_of_public(labels(given), classes, values)
    if len(truth) != n_public:
        raise InvalidParameter(
            f"There are {len(truth)} labels in public_y and {n_public} public rows; give one each."
        )
    return truth
