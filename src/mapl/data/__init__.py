"""Private tables, public rows, what both declare, and which teacher sees whom.

The encoder stands in `mapl.data.encoder` and is imported from there, because it brings scikit-learn along.
"""

from mapl.data.classes import UNKNOWN, Classes
from mapl.data.conform import conformed
from mapl.data.rows import Rows, checked, digests, for_learner, n_rows, names, select, take, without
from mapl.data.schema import Column, Schema, classes_of, draft
from mapl.data.shards import Sharded, ShardKey, Shards, split, unit_bytes
from mapl.data.table import PrivateTable, label_codes, private_table, read_table, unit_column

__all__ = [
    "UNKNOWN",
    "Classes",
    "Column",
    "PrivateTable",
    "Rows",
    "Schema",
    "ShardKey",
    "Sharded",
    "Shards",
    "checked",
    "classes_of",
    "conformed",
    "digests",
    "draft",
    "for_learner",
    "label_codes",
    "n_rows",
    "names",
    "private_table",
    "read_table",
    "select",
    "split",
    "take",
    "unit_bytes",
    "unit_column",
    "without",
]
