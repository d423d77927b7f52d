"""A private choice among methods and learners in memory, as ``mapl learn`` makes it on files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from mapl.data.shards import ShardKey
from mapl.estimators.face import UNIT_OF_GROUPS, Given
from mapl.estimators.given import names_of
from mapl.noise import Coins
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.inputs import Declared, PublicRows
from mapl.pipeline.job import Job, Learners, Source, Tables
from mapl.pipeline.learn import no_progress
from mapl.pipeline.selection import by_selection

if TYPE_CHECKING:
    from mapl.pipeline.method import Method
    from mapl.pipeline.request import Request

LABEL = "label"
NOWHERE = Path()
"""A job in memory has no files; nothing is read from here or written to it."""


def selection_of(given: Given, request: Request, learners: Learners, key: ShardKey, coins: Coins) -> Method:
    """Plan every method of the request's short list on rows in memory, and the choice among them."""
    unit = None if given.table.unit_ids is None else UNIT_OF_GROUPS
    declared = Declared(given.schema, LABEL, names_of(given.classes), unit)
    job = Job(
        tables=Tables(NOWHERE, LABEL, public=NOWHERE),
        learners=learners,
        folder=RunFolder(NOWHERE),
        source=Source(declared, PublicRows(given.public, None), lambda: given.table),
        key=key,
        coins=coins,
        progress=no_progress,
        on_warning=lambda words: warnings.warn(words, stacklevel=6),
    )
    return by_selection(job, request)
