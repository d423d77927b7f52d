"""Tables of a few made-up records, and students that predict by any function of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.pipeline.request import Request
from mapl.students.student import Student
from mapl.types import Adjacency, Budget

KEY = ShardKey(bytes(range(32)))
CLASSES = Classes(("no", "yes"))
EPSILON = 6.0
"""Large enough for few records to come near the worst case, which is what tells twins apart."""


def asking(adjacency: Adjacency, unit: str | None, **settings: Any) -> Request:
    settings = {"method": "select:teachers,cells", **settings}
    return Request(Budget(EPSILON, 1e-5), CLASSES, adjacency=adjacency, unit=unit, **settings)


def private(rows: Any, labels: Any, ids: Any = None) -> PrivateTable:
    unit_ids = None if ids is None else pa.array(list(ids), pa.string())
    matrix = np.asarray(rows, dtype=np.float64).reshape(len(labels), -1 if len(labels) else 1)
    return PrivateTable(PrivateRows(matrix), np.asarray(labels, dtype=np.int32), unit_ids)


@dataclass(frozen=True)
class Model:
    """A model that predicts by any function of a matrix."""

    function: Callable[[Any], Any]

    def predict(self, rows: Any) -> Any:
        return np.array(CLASSES.names)[np.asarray(self.function(np.asarray(rows)), dtype=int)]


def student(function: Callable[[Any], Any]) -> Student:
    schema = draft_schema(np.array([[0.25], [1.5]]), classes=CLASSES.names)
    return Student(Model(function), CLASSES, schema, "test", "plain", 1, on_matrix=True)


ALWAYS = [student(lambda rows, code=code: np.full(len(rows), code)) for code in (0, 1)]
"""Students that know one class only."""
