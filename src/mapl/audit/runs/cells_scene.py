"""A set-up of cells, rehearsed: made-up records in public cells, the real counts, the real noise or none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mapl.audit.runs.scene import CALM, COUNTS, LABELS, LOUD, NOTHING, STUDENT, Pupil
from mapl.audit.runs.set_up import SetUp
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.parameters import spell
from mapl.pipeline.counts.cells_plan import PlannedCells, plan_cells
from mapl.pipeline.counts.counting import count
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.release.cell_counts import CellCounts
from mapl.release.ledger.memory import MemoryLedger
from mapl.students.on_counts import CountStudent
from mapl.students.taught_by_counts import Round
from mapl.types import ABSTAIN, Codes, Flags, Integers


class StillCoins(Coins):
    """Coins that always fall on the same side, so that no count gets any noise: for the control only."""

    private = False

    def words(self, n: int) -> NDArray[np.uint64]:
        return np.full(n, np.iinfo(np.uint64).max)


class CellsScene:
    """Cells that hold a canary or nobody: one record more or less is all the difference in a cell.

    The first cell always holds a calm record, so that there is a student; the second one is the target's, the
    others are those of canaries. Each record is equal to a public row of its cell.
    """

    seen_of_canaries = COUNTS
    mechanism = CellCounts.name

    def __init__(
        self, set_up: SetUp, rng: np.random.Generator, n_canaries: int, file: Path | None, *, noise: bool
    ) -> None:
        self.set_up, self.noise = set_up, noise
        self.questions = set_up.rows(set_up.n_questions, rng, file)
        self.pupil = Pupil(self.questions, set_up.classes, set_up.schema, set_up.settings)
        self.student = self.pupil.learner
        self.planned = plan_scene(set_up, self)
        self.key = ShardKey(rng.bytes(32))
        cells = self.planned.cells.of(self.questions)
        different, first = np.unique(cells, return_index=True)
        own = np.sort(first[different != self.planned.cells.partition.far])
        if len(own) < 3:
            raise InvalidParameter(
                f"The rows lie in fewer than three cells; give more different ones with {spell('public')}."
            )
        self.calm, self.target, self.places = own[0], own[1], own[2 : 2 + n_canaries]
        self.cells, self.n_canaries = cells, len(self.places)
        self.taught = CountStudent(set_up.classes, set_up.schema, self.pupil.learner, self.pupil.encoder)

    def run_with_target(self, present: bool, coins: Coins) -> Mapping[str, Codes]:
        rounds, labels = self.counted(np.array([self.target]), np.array([present]), coins)
        mine = np.flatnonzero(self.cells == self.cells[self.target])
        knows = (labels != ABSTAIN).any()
        said = np.full(len(labels), NOTHING)
        if knows:
            said = self.taught.train(self.questions, rounds).predict_codes(self.questions)
        return {LABELS: labels[mine], STUDENT: said[mine]}

    def run_with_canaries(self, present: Flags, coins: Coins) -> Flags:
        rounds, _ = self.counted(self.places, present, coins)
        first = rounds[0]
        mine = first.counts[first.cells[self.places]]
        if self.set_up.adjacency == "add-remove":
            return np.asarray(mine[:, LOUD] >= 1)
        return np.asarray(mine[:, LOUD] > mine[:, CALM])

    def counted(self, who: Integers, present: Flags, coins: Coins) -> tuple[tuple[Round, ...], Codes]:
        """Count as a run does, with some units there, and return the noisy counts and the labels they make."""
        if self.set_up.adjacency == "add-remove":
            who, labels = who[present], np.full(int(present.sum()), LOUD, dtype=np.int32)
        else:
            labels = np.where(present, LOUD, CALM).astype(np.int32)
        places = np.concatenate([[self.calm], who]).astype(np.int64)
        labels = np.concatenate([[CALM], labels]).astype(np.int32)
        ids = None if self.set_up.unit is None else pa.array([f"made-up {place}" for place in places.tolist()])
        table = PrivateTable(PrivateRows(take(self.questions, places)), labels, ids)
        counted = count(
            table,
            self.questions,
            self.planned,
            self.key,
            Workplace(MemoryLedger()),
            coins=coins if self.noise else StillCoins(),
            student=self.taught,
        )
        return counted.rounds, counted.labelled.labels


def plan_scene(set_up: SetUp, scene: CellsScene) -> PlannedCells:
    """Plan the cells once more, for the rehearsal's public rows."""
    first, settings = set_up.plan.stages[0], set_up.settings
    n_cells = int(first.parameters["cells"]) - (settings["partition"] != "leaves")  # type: ignore[arg-type]
    request = Request(
        set_up.plan.budget,
        set_up.classes,
        method="cells",
        n_cells=max(2, min(n_cells, set_up.n_questions)),
        partition=settings["partition"],
        rounds=int(settings["rounds"]),
        per_unit=settings["per_unit"],
        adjacency=set_up.adjacency,
        unit=set_up.unit,
    )
    return plan_cells(request, scene.questions, set_up.schema, scene.pupil.encoder, why="a rehearsal")


def cells_scenes(
    set_up: SetUp, rng: np.random.Generator, n_canaries: int, file: Path | None
) -> tuple[CellsScene, CellsScene]:
    """Return the rehearsed set-up, and its control: the same without noise."""
    seed = rng.integers(2**32)
    first, second = (
        CellsScene(set_up, np.random.default_rng(seed), n_canaries, file, noise=noise) for noise in (True, False)
    )
    return first, second
