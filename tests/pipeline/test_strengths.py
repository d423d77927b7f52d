"""What a report calls the strength of a value: beside the average public row, whatever the constant has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.moments.contributions import Crowd
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.pipeline.rehearsal.moments import PlayedRounds
from mapl.pipeline.request import Request
from mapl.pipeline.sums.moments_plan import plan_moments
from mapl.pipeline.sums.summing import follow_rounds
from mapl.students.moments.strengths import Strengths, measure_strengths
from mapl.types import Budget

CLASSES = Classes(("no", "yes"))
N = 20_000


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    world = np.random.default_rng(0)
    sex = world.choice(["f", "m"], size=N, p=[0.45, 0.55])
    smokes = world.choice(["never", "former", "current"], size=N, p=[0.6, 0.3, 0.1])
    return pa.table({"sex": sex, "smokes": smokes, "age": world.normal(50, 12, N)})


def measure(rows: pa.Table, labels: object) -> tuple[Strengths, dict[str, float]]:
    """Return strengths and, by name, the effect on "yes" of having a value instead of the average one."""
    request = Request(Budget(2.0, 1e-6), CLASSES, n_rows=N, method="moments")
    public = rows.slice(0, 2_000)
    planned = plan_moments(request, public, draft_schema(public), why="")
    crowd = Crowd(PrivateRows(rows), np.asarray(labels, dtype=np.int32), None)
    played = follow_rounds(planned, PlayedRounds(planned, crowd, 1.0, np.random.default_rng(1)))
    found = measure_strengths(played.drawn.vectors, played.known, None, public, CLASSES)
    seen = played.drawn.vectors.encoder.encode(public).toarray()
    spread = seen.std(axis=0, dtype=np.float64)
    return found, dict(zip(found.names, found.effects[:, 1] / spread, strict=True))


def test_values_of_a_category_are_told_beside_the_average_row(rows: pa.Table) -> None:
    current = np.asarray(rows["smokes"]) == "current"
    world = np.random.default_rng(2)
    labels = world.random(N) < np.where(current, 0.3, 0.1)  # sex says nothing, and few say yes
    found, effects = measure(rows, labels)
    for name in ("sex", "smokes"):
        kinds = [value for value in effects if value.startswith(f"{name}=")]
        public = np.asarray(rows[name].slice(0, 2_000))
        mean = sum(float(np.mean(public == value.split("=")[1])) * effects[value] for value in kinds)
        assert mean == pytest.approx(0, abs=1e-9)
    noise = dict(zip(found.names, found.noise, strict=True))
    told = dict(zip(found.names, found.effects[:, 1], strict=True))
    assert told["sex=f"] * told["sex=m"] < 0
    assert abs(told["sex=m"]) < 4 * noise["sex=m"]
    assert told["smokes=current"] > 4 * noise["smokes=current"]
