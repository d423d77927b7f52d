"""``mapl plan --costs``: time and memory of a run on every engine, by a short calibration on made-up rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from mapl.cli.console import out
from mapl.cli.dialect.panels import option
from mapl.errors import InvalidParameter
from mapl.planning.planner.answer import Answer
from mapl.planning.planner.ways import USUAL_COLUMNS

if TYPE_CHECKING:
    from mapl.planning.costs.reckoning import Cost

COSTS = "Time and memory"
MOST_COLUMNS = 10_000

Costs = Annotated[
    bool,
    option(
        COSTS, "Tell time and memory on every engine, by some seconds of calibration on made-up rows.", "--costs"
    ),
]
Columns = Annotated[
    int | None,
    option(COSTS, "How many columns of numbers --costs is about.", show_default="those of the sample, or 30"),
]
Workers = Annotated[
    int, option(COSTS, "Processes or workers that --costs is about; -1 for one per processor.", "--jobs")
]


def measure_costs(
    found: Answer, *, learner: str | None, columns: int | None, jobs: int, memory: str | None
) -> tuple[Cost, ...]:
    """Calibrate on made-up rows of the declared shape, and reckon what the plans that were found take."""
    from mapl.cli.options.amounts import bytes_or_none
    from mapl.cli.options.learner import learner_of
    from mapl.pipeline.rehearsal.calibration import calibrate
    from mapl.pipeline.runs.private_input import machine_memory, room_beside
    from mapl.planning.costs.reckoning import reckon
    from mapl.planning.costs.work import Sizes
    from mapl.teachers.workers.pool import n_workers

    question = found.question
    assert question.rows is not None
    assert question.queries is not None
    columns = USUAL_COLUMNS if columns is None else columns
    if not 1 <= columns <= MOST_COLUMNS:
        raise InvalidParameter(f"There are {columns} columns (--columns); costs are told for 1 to {MOST_COLUMNS}.")
    workers, most = n_workers(jobs), bytes_or_none(memory)
    most = machine_memory() // 2 if most is None else most
    plan = found.best if found.proposals else None
    sizes = Sizes(
        question.rows,
        columns,
        question.n_classes,
        question.queries if plan is None else plan.asked,
        0 if plan is None else plan.n_teachers,
    )
    measured = calibrate(
        sizes,
        question.budget,
        learner_of(learner or "ridge"),
        methods=[way.method for way in found.ways],
        n_cells=0 if found.cells is None else found.cells.n_cells,
        room=room_beside(most),
    )
    return reckon(measured, sizes, workers=workers, memory=most)


def refuse_unused(costs: bool, **given: object) -> None:
    """Refuse options that say something about costs where none are asked for."""
    unused = next((name for name, value in given.items() if value is not None), None)
    if unused is not None and not costs:
        raise InvalidParameter(f"--{unused} belongs to --costs; give both, or none of them.")


def costs_as_dicts(costs: tuple[Cost, ...] | None) -> list[dict[str, Any]] | None:
    """Return costs for JSON."""
    return None if costs is None else [one.to_dict() for one in costs]


def show_costs(costs: tuple[Cost, ...], columns: int | None) -> None:
    """Print what every way takes on every engine."""
    shown = Table(title="What a run takes", title_justify="left")
    for heading in ("way", "engine"):
        shown.add_column(heading, no_wrap=True)
    for heading in ("processes", "time", "memory", "each worker"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for one in costs:
        worker = "–" if one.worker_memory is None else in_bytes(one.worker_memory)
        shown.add_row(one.method, one.engine, str(one.workers), in_time(one.seconds), in_bytes(one.memory), worker)
    out.print(shown)
    out.print(
        f"Costs are a model: rates of {USUAL_COLUMNS if columns is None else columns} columns of numbers, measured "
        "for a few seconds on made-up rows on this machine (nothing private was read), a fixed part, and parts in "
        "proportion to rows, teachers and votes, which workers divide. What comes on top does not grow with the "
        "private table: starting Python or an engine, planning, the student and the report.",
        soft_wrap=True,
    )


def in_time(seconds: float) -> str:
    """Say a time as roughly as it is known.

    Examples
    --------
    >>> in_time(0.2), in_time(2.44), in_time(75), in_time(2700), in_time(14400)
    ('below 1 s', '2 s', '75 s', '45 min', '4 h')
    """
    if seconds < 1:
        return "below 1 s"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def in_bytes(number: int) -> str:
    """Say an amount of memory as roughly as it is known.

    Examples
    --------
    >>> in_bytes(353_026_048), in_bytes(4_200_000_000)
    ('350 MB', '4.2 GB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{round(number / 1e7) * 10} MB"
