"""A real run that counted in cells: made-up counts, released by the real mechanism into a real ledger."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from public_files import Run

from mapl.noise import Coins
from mapl.pipeline.runs.cells_file import COUNT
from mapl.planning.plan import Plan, Stage
from mapl.release import Classes, Released
from mapl.release.cell_counts import SENSITIVITY, CellCounts, release_counts
from mapl.release.files.labels import labels_table
from mapl.release.ledger.ledger import Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.statement.cell_promise import cells_promise
from mapl.release.statement.cell_statement import Spent, state_counts
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import ABSTAIN, Adjacency, Budget, State

N_CELLS, PER_CELL = 60, 2
BUDGET = Budget(1.0, 0.0)


def counted(
    coins: Coins,
    *,
    names: tuple[str, ...] = ("no", "yes"),
    rounds: int = 1,
    adjacency: Adjacency = "add-remove",
    n_cells: int = N_CELLS,
) -> Run:
    """Release the counts of some cells and of one without public rows, which a second round does not have."""
    world = np.random.default_rng(6)  # makes up records; it protects nobody
    classes, sensitivity = Classes(names), SENSITIVITY[adjacency]
    sizes = [n_cells + 1, n_cells][:rounds]
    mechanisms = [CellCounts(BUDGET.epsilon / rounds, size, len(names), sensitivity) for size in sizes]
    stages = [
        Stage(name, CellCounts.name, {"partition": "points", **made.parameters}, Budget(made.epsilon, 0.0))
        for name, made in zip(("counts", "counts again"), mechanisms, strict=False)
    ]
    why = f"cells as asked; {n_cells} cells and epsilon 1"
    plan = Plan(names, 0, adjacency, "patient", PER_CELL * n_cells, BUDGET, tuple(stages), why)
    ledger = MemoryLedger()
    ledger.open(plan.digest, Limits.of_plan(plan))
    cells = np.repeat(np.arange(n_cells), PER_CELL)
    told, parts = [], []
    for number, (stage, made) in enumerate(zip(stages, mechanisms, strict=True), start=1):
        records = world.poisson(3, size=(made.n_cells, len(names)))
        noisy = release_counts(made, records, coins, ledger=ledger, stage=stage.name)
        told.append(Round(cells, noisy, made.epsilon))
        parts.append(table_of(number, noisy, classes, n_cells, world.normal(size=(n_cells, 2))))
    codes = TaughtByCounts(np.zeros((len(cells), 1)), tuple(told)).labels
    answered = int((codes != ABSTAIN).sum())
    released = Released(codes, None, State(answered, len(codes) - answered, True), len(codes))
    statement = state_counts(
        tuple(Spent(stage.name, made) for stage, made in zip(stages, mechanisms, strict=True)),
        released,
        BUDGET,
        coins,
        promise=cells_promise(adjacency, "patient"),
        plan_digest=plan.digest,
        ledger_head=ledger.head,
    )
    labels = labels_table(statement, released, classes)
    return Run(
        json.loads(statement.to_json()),
        json.loads(plan.to_json()),
        labels,
        classes,
        ledger.export(),
        pa.concat_tables(parts),
    )


def table_of(number: int, counts: np.ndarray, classes: Classes, n_placed: int, places: np.ndarray) -> pa.Table:
    """Lay counts out as a run publishes them; cells beyond the placed ones have no public rows."""
    away = [None] * (len(counts) - n_placed)
    columns = {
        "round": np.full(len(counts), number),
        "cell": np.arange(len(counts)),
        "x": pa.array([*places[:, 0].tolist(), *away], pa.float64()),
        "y": pa.array([*places[:, 1].tolist(), *away], pa.float64()),
        "public rows": np.where(np.arange(len(counts)) < n_placed, PER_CELL, 0),
    }
    return pa.table(columns | {f"{COUNT}{name}": counts[:, code] for code, name in enumerate(classes.names)})
