"""The file of released soft labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from mapl.pipeline.votes.soft_labelling import SoftlyLabelled, targets_of
from mapl.release.statement.plain_words import NOT_PRIVATE

FILE = "soft_labels.parquet"
FROM = ("median", "mean")


def soft_file(made: SoftlyLabelled) -> bytes:
    """Lay out one row per public row: the released probability or null, its deviation, and what it came from.

    Of more than two classes there is a list of probabilities, in the order of the classes. Means are written as
    they were released, below 0 and above 1 where noise took them there.
    """
    values, spreads = targets_of(made)
    several = values.ndim == 2
    missing = np.isnan(values[:, 0] if several else values)
    of_means = np.zeros(len(values), dtype=np.int8)
    of_means[made.labelled.taken] = made.soft.means
    statement = made.labelled.statement
    marks = {"mapl.private": "true" if statement.private else "false", "mapl.version": statement.mapl_version}
    if not statement.private:
        marks["mapl.warning"] = NOT_PRIVATE
    table = pa.table(
        {
            "question": pa.array(np.arange(len(values), dtype=np.int64)),
            "probabilities" if several else "probability": pa.array(
                [None if gone else one for gone, one in zip(missing, values, strict=True)]
            ),
            "deviation": pa.array(spreads, mask=missing),
            "from": pa.array(FROM, pa.string()).take(pa.array(of_means, mask=missing)),
        }
    ).replace_schema_metadata(marks)
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
