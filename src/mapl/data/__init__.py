"""Private tables, public rows, what both declare, and which teacher sees whom.

The encoder stands in `mapl.data.encoding.encoder` and is imported from there, because it brings scikit-learn along.
"""

from mapl.data.drafts.draft_schema import classes_of, draft_schema
from mapl.data.reading.conform import conform
from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, check_rows, for_learner, n_rows, names, select, take, without
from mapl.data.tables.schema import Column, Schema
from mapl.data.tables.table import PrivateTable, label_codes, private_table, public_codes, read_table
from mapl.data.units.bags import Bagged
from mapl.data.units.row_digests import digests
from mapl.data.units.shards import Sharded, ShardKey, Shards, split, unit_bytes

__all__ = [
    "UNKNOWN",
    "Bagged",
    "Classes",
    "Column",
    "PrivateRows",
    "PrivateTable",
    "Rows",
    "Schema",
    "ShardKey",
    "Sharded",
    "Shards",
    "check_rows",
    "classes_of",
    "conform",
    "digests",
    "draft_schema",
    "for_learner",
    "label_codes",
    "n_rows",
    "names",
    "private_table",
    "public_codes",
    "read_table",
    "select",
    "split",
    "take",
    "unit_bytes",
    "without",
]
