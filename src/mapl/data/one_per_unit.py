"""One unit, one record: which of a unit's records counts, decided by that unit's own records and id alone."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mapl.data.identities import Identities
from mapl.data.shards import ShardKey
from mapl.errors import GuaranteeBroken

Numbers = NDArray[np.int64]


def one_per_unit(ids: Sequence[bytes], contents: Sequence[bytes], key: ShardKey) -> Numbers:
    """Return the number of one row per unit, in the order of the table.

    Each row draws a lot, a keyed hash of its unit's id and of its own content, and a unit's lowest lot counts. No
    other unit has a say in it, and neither has the order of the rows: rows with equal lots have equal content.

    Parameters
    ----------
    ids, contents
        The identity of each row's unit, and what the row says, in the order of the rows.
    """
    whose = Identities.of(ids).column
    own = hmac.digest(key.secret, b"mapl one record per unit", "sha256")
    lots = [hmac.digest(own, one + b"\0" + what, "sha256") for one, what in zip(ids, contents, strict=True)]
    table = pa.table({"id": whose, "lot": pa.array(lots, pa.binary())})
    order = pc.sort_indices(table, sort_keys=[("id", "ascending"), ("lot", "ascending")]).to_numpy()
    sorted_ids = table["id"].take(order)
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = ~np.asarray(pc.equal(sorted_ids.slice(0, max(0, len(order) - 1)), sorted_ids.slice(1)), np.bool_)
    return np.sort(order[first]).astype(np.int64)


def refuse_repeated(ids: Sequence[bytes], rows: Numbers) -> None:
    """Check on identities that no unit has two of these rows."""
    kept = Identities(Identities.of(ids).column.take(pa.array(rows)))
    if kept.n_units != len(rows):
        raise GuaranteeBroken(
            "A privacy unit would be counted in two cells, so removing it could change two counts and the promise "
            "would be void. Nothing was released. Do not change a table or its ids while it is being counted."
        )
