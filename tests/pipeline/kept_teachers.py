"""Kept teachers of the small clinic, for tests of several files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mapl.data.synthetic import LABEL, UNIT, Clinic
from mapl.data.tables.classes import Classes
from mapl.pipeline.learners import Learners
from mapl.pipeline.online.teach import TaughtRun, teach
from mapl.pipeline.request import Request
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.tables import Tables
from mapl.types import Budget

CLASSES = Classes(("no", "yes"))
K = 20


def asking(classes: Classes, **settings: Any) -> Request:
    given = {"n_teachers": K, "n_queries": 50, "unit": UNIT, "may_abstain": True, **settings}
    return Request(Budget(20.0, 1e-5), classes, **given)


def taught(clinic: Any, to: Path, learner: Any = None, private: Path | None = None, **settings: Any) -> TaughtRun:
    tables = Tables(private or clinic.private, LABEL, clinic.public, unit=UNIT, classes=CLASSES)
    learners = Learners(learner, time_limit=60.0, n_jobs=1)
    seed = settings.pop("seed", None)
    return teach(tables, lambda classes: asking(classes, **settings), learners, RunFolder(to), seed=seed)


def questions(n: int = 40) -> list[dict[str, Any]]:
    return Clinic().visits(n, stream=9)[0].drop_columns([LABEL, UNIT]).to_pylist()
