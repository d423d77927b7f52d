"""A teacher made of public rows and made-up labels, which shows for free whether questions can be answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import Rows, n_rows, take
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidData
from mapl.teachers import Learner, Teachers, fit_teachers
from mapl.teachers.workers.dispatch import bench, replies

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class StandIn:
    """Stands in for the teachers where their failure would cost something.

    Teachers vote on all questions at once, so that one question they fail on would turn all their votes into the
    fallback. What a stand-in fails on is public: it depends on the learner, the public rows and the questions.
    """

    model: Teachers

    @classmethod
    def trained(cls, learner: Learner, public: Rows, *, n_classes: int, time_limit: float | None) -> Self:
        """Train the stand-in as teachers are trained, on some public rows; few are repeated."""
        size = max(min(MOST_ROWS, n_rows(public)), 2 * n_classes)
        places = np.arange(size, dtype=np.int64)
        labels = (places % n_classes).astype(np.int32)
        one_shard = Shards(ShardKey(bytes(32)), 1)
        alone = Sharded(PrivateRows(take(public, places % n_rows(public))), labels, [b""] * size, one_shard)
        return cls(fit_teachers(learner, alone, n_classes=n_classes, n_jobs=1, time_limit=time_limit))

    def refuse_unanswerable(self, questions: Rows) -> None:
        """Refuse questions that the learner's models fail on."""
        model = self.model
        with bench(
            model.learner, "ask", n_classes=model.n_classes, questions=questions, time_limit=model.time_limit
        ) as job:
            ((_, reply),) = replies(job, model.models.__getitem__, [0], model.n_jobs)
        if reply is None:
            raise InvalidData(
                f"The learner {model.learner.name} cannot answer these questions: a model that it learned from "
                "public rows fails on them. Nothing was spent. Look for empty cells and other rare values, or take "
                "a learner that copes with them."
            )
