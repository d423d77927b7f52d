"""What the faces with teachers share: how they read rows and labels, and what they ask of the pipeline."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from mapl.data.conform import conformed
from mapl.data.encoder import Encoder
from mapl.data.encoding import for_teachers, sees_spectral, shared_encoder
from mapl.data.rows import Rows, checked, is_sparse
from mapl.data.schema import Schema, draft
from mapl.data.shards import ShardKey
from mapl.data.table import PrivateTable, unit_column
from mapl.errors import InvalidData, InvalidParameter
from mapl.estimators.given import codes, declared, is_array_like, labels, matrix, names_of
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.pipeline.by_teachers import DEFAULT_TEACHER
from mapl.pipeline.inputs import n_units
from mapl.pipeline.request import Planned, Request, planned
from mapl.planning import Agreement
from mapl.planning.plan import Plan
from mapl.release import Ledger, Limits, MemoryLedger
from mapl.teachers import Learner, as_learner, rehearse
from mapl.types import Budget

UNIT_OF_GROUPS = "group"
"""How statements call the unit of rows that came with groups."""


@dataclass(frozen=True, slots=True, repr=False)
class Given:
    """Private and public rows in the form that a schema drafted from the public ones declares."""

    table: PrivateTable
    public: Rows
    schema: Schema
    encoder: Encoder | None
    classes: NDArray[Any]

    def __repr__(self) -> str:
        return "Given(private)"


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that trains teachers on private rows. Its settings are public, and so is its repr."""

    def _given(self, X: Any, y: Any, public: Any, groups: Any) -> Given:
        """Read everything that `fit` was given, and refuse what does not fit together."""
        if (public is None) != (self.adjacency == "labels"):
            raise InvalidParameter(
                "Public rows are needed to ask the teachers about: give fit(X, y, public=rows), or "
                'adjacency="labels" where the features are public themselves (not both).'
            )
        rows = self._rows(X, reset=True)
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give one label per row."
            )
        column = labels(y)
        known = declared(self.classes, column)
        numbers = codes(column, known)
        ids = None if groups is None else unit_column(groups, name="groups")
        asked = rows if public is None else _readable(public, "public rows")
        refuse_other_kind(asked, rows, "public rows", "private ones")
        schema = draft(asked, classes=names_of(known).names)
        rows = conformed(rows, schema, "private rows")
        asked = rows if public is None else conformed(asked, schema, "public rows")
        encoder = shared_encoder(schema, asked, (self.learner, getattr(self, "student", self.learner)))
        return Given(PrivateTable(rows, numbers, ids), asked, schema, encoder, known)

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Check rows and remember their columns; tables keep their types, all else becomes a matrix of numbers."""
        if not is_array_like(X):
            rows = checked(X, "rows")
            validate_data(self, rows, reset=reset, skip_check_array=True)
            return rows
        how = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": "allow-nan"}
        return validate_data(self, matrix(X, "rows"), reset=reset, **how)

    def _request(self, given: Given) -> Request:
        """Put the settings together, or refuse them."""
        return Request(
            Budget(self.epsilon, self.delta),
            names_of(given.classes),
            n_teachers=None if self.n_teachers == "auto" else self.n_teachers,
            n_rows=self.n_rows,
            mechanism=self.mechanism,
            settings=self.settings or {},
            n_queries=self.n_queries,
            agreement=Agreement.parse(self.agreement) if isinstance(self.agreement, str) else self.agreement,
            may_abstain=self.may_abstain,
            adjacency=self.adjacency,
            unit=None if given.table.unit_ids is None else UNIT_OF_GROUPS,
            **self._more_settings(),
        )

    def _more_settings(self) -> dict[str, Any]:
        """Return the settings of a request that not every face has."""
        return {}

    def _planned(self, given: Given, request: Request, n_questions: int) -> tuple[Planned, Learner]:
        """Fix what will be released at most, and try the learner out, before a teacher sees a private row."""
        request, learner = self._teaching(given, request)
        plan = planned(request, n_questions)
        if plan.warning:
            warnings.warn(plan.warning, stacklevel=3)
        return plan, learner

    def _teaching(self, given: Given, request: Request) -> tuple[Request, Learner]:
        """Return who teaches, tried out on public rows, and the request with what follows from it."""
        teacher = DEFAULT_TEACHER if self.learner is None else self.learner
        request = replace(request, spectral=sees_spectral(teacher, given.encoder))
        if request.n_teachers is None:
            request = sized(request, given)
        learner = as_learner(teacher, request.classes, given.schema, for_teachers(given.encoder))
        rehearse(learner, given.public, len(request.classes), n_jobs=self.n_jobs, time_limit=self.time_limit)
        return request, learner

    def _opened_ledger(self, plan: Plan) -> Ledger:
        """Return a ledger in which nothing but this fit is recorded: neither teachers nor rows can be resumed."""
        if self.ledger is not None and not hasattr(self.ledger, "progress"):
            raise InvalidParameter(
                f"ledger is of type {type(self.ledger).__name__}; give a ledger, such as "
                "mapl.SqliteLedger(path), or None for one in memory."
            )
        ledger: Ledger = MemoryLedger() if self.ledger is None else self.ledger
        ledger.open(plan.digest, Limits.of_plan(plan), fresh=True)
        return ledger

    def _coins(self) -> Coins:
        return SystemCoins() if self.seed is None else SeededCoins(self.seed)

    def _key(self) -> ShardKey:
        if self.seed is None:
            return ShardKey.fresh()
        return ShardKey(hashlib.sha256(f"mapl shards of seed {self.seed}".encode()).digest())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.seed is None
        return tags


def sized(request: Request, given: Given) -> Request:
    """Count the units where who is in the table is public, and hence how many they are."""
    if request.adjacency == "add-remove" or request.n_rows is not None:
        return request
    return replace(request, n_rows=n_units(given.table))


def refuse_other_kind(rows: Rows, others: Rows, what: str, than: str) -> None:
    """Refuse rows of another kind than others: a learner may fail on one kind and not on the other."""
    kinds = [
        "sparse matrix" if is_sparse(one) else f"{type(one).__module__.split('.')[0]} {type(one).__name__}"
        for one in (rows, others)
    ]
    if kinds[0] != kinds[1]:
        raise InvalidData(f"The {what} are a {kinds[0]} and the {than} a {kinds[1]}; give both in the same form.")


def _readable(given: Any, what: str) -> Rows:
    return checked(matrix(given, what) if is_array_like(given) else given, what)
