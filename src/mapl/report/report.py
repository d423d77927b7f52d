"""A run as a value: everything that its report shows, gathered from public files and checked to fit together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pyarrow as pa

from mapl.data.tables.classes import Classes
from mapl.data.tables.number_range import NumberRange
from mapl.errors import InvalidData
from mapl.mechanisms import REGISTRY
from mapl.mechanisms.scores.noisy_mean import NoisyMean
from mapl.mechanisms.scores.noisy_shares import NoisyShares
from mapl.pipeline.methods.multi_label import LABELS
from mapl.planning.plan import EVERYBODY
from mapl.release.cell_counts import CellCounts
from mapl.release.moment_sums import MomentSums
from mapl.release.soft_labels import MEANS, MEDIANS
from mapl.release.statement.assumptions import Assumptions
from mapl.release.statement.selected_statement import name_published_stages
from mapl.release.statement.stated_sums import StatedSums
from mapl.release.vote_sums import VoteSums
from mapl.report.cell_map import CellMap, refuse_other_counts
from mapl.report.counting import SUMMARY, Counting
from mapl.report.coverage import Coverage
from mapl.report.evaluation import Evaluation
from mapl.report.guarantee import Guarantee, number
from mapl.report.number_evaluation import NumberEvaluation
from mapl.report.strongest import Strongest
from mapl.report.trail import Trail

PublicJson = Mapping[str, Any]

SUMMARIES = {
    CellCounts.name: SUMMARY,
    MomentSums.name: "sums of short vectors with exact normal noise, a few rounds at one charge",
    VoteSums.name: "counts of votes with exact normal noise, added up over sites",
    NoisyMean.name: "sums of the teachers' scores with Gaussian noise",
    NoisyShares.name: "sums of the shares that teachers give each class, with Gaussian noise",
}
"""What mechanisms do that are in no registry of votes."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage of a run: what was allowed for it and, where the statement says so, what it costs at most."""

    name: str
    mechanism: str
    planned_epsilon: float | None
    epsilon: float | None
    delta: float
    units: str | None = None


@dataclass(frozen=True, slots=True)
class MethodShown:
    """How the labels came about; ``why`` is empty where nothing was planned.

    ``counting`` is there for a run that counted in cells and ``summing`` for one that added up, which have no
    teachers; ``selected`` names the method that was chosen where several were tried.
    """

    mechanism: str
    summary: str
    parameters: tuple[tuple[str, Any], ...]
    settings: tuple[tuple[str, Any], ...]
    teachers: int
    classes: tuple[str, ...]
    sharded_by_mapl: bool
    learner: str | None
    student: str | None
    stages: tuple[StageRow, ...]
    why: str
    counting: Counting | None
    summing: StatedSums | None = None
    selected: str | None = None
    columns: str = ""
    beside_kernel: bool = False
    number_range: NumberRange | None = None
    """Where labels go from and to, if they are numbers; the classes are its ends then."""
    n_labels: int = 1
    """How many labels a row has."""

    @property
    def is_soft(self) -> bool:
        """Whether scores of teachers were released, and not votes."""
        return any(stage.name in (MEDIANS, MEANS) for stage in self.stages)

    @property
    def can_be_audited(self) -> bool:
        known = REGISTRY.get(self.mechanism)
        return self.mechanism in (CellCounts.name, MomentSums.name) or (known is not None and known.kind != "none")


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the page shows about one run. All of it is public."""

    guarantee: Guarantee
    coverage: Coverage
    evaluation: Evaluation | None
    method: MethodShown
    assumptions: Assumptions
    trail: Trail
    cell_map: CellMap | None
    strongest: Strongest | None = None
    numbers: NumberEvaluation | None = None
    """What was measured on test rows whose labels are numbers, in the place of `evaluation`."""

    @classmethod
    def of(
        cls,
        statement: PublicJson,
        *,
        plan: PublicJson | None,
        labels: pa.Table,
        classes: Classes | Sequence[str],
        groups: Sequence[str] = (),
        evaluation: Evaluation | NumberEvaluation | None = None,
        settings: PublicJson | None = None,
        ledger: Sequence[PublicJson] | None = None,
        cells: pa.Table | None = None,
        weights: pa.Table | None = None,
        columns: str = "",
        beside_kernel: bool = False,
    ) -> Self:
        """Gather the report of a run from its public files.

        Parameters
        ----------
        labels
            The released labels: columns question, label and status, and the public columns to group by.
        groups
            Names of public columns, beside the labels, whose values are compared in coverage.
        settings
            Public settings to list; ``learner`` and ``student`` are named in the text too.
        ledger
            The exported public chain of the ledger, oldest entry first.
        cells
            The noisy counts of a run that counted in cells, as it published them.
        weights
            What the student of a run by moments goes by, as it published it.
        columns
            How many columns of each kind were declared or drafted, in words.
        beside_kernel
            Whether a kernel stands beside the linear model of a run by moments, as on images.

        Raises
        ------
        InvalidData
            If the files belong to different runs.
        LedgerTampered
            If the chain of the ledger is broken.
        """
        declared = classes if isinstance(classes, Classes) else Classes(tuple(map(str, classes)))
        coverage = Coverage.of(labels, declared, groups)
        _refuse_other_run(statement, coverage)
        guarantee = Guarantee.of(statement, plan)
        method = replace(_method(statement, plan, declared, dict(settings or {})), columns=columns)
        method = replace(method, beside_kernel=beside_kernel)
        if not coverage.overall.labelled:  # whatever student was asked for, there was nothing to learn from
            method = replace(method, student=None)
        trail = Trail.of(statement, plan, ledger)
        cell_map = None
        if cells is not None and method.counting is not None:
            cell_map = CellMap.of(cells, declared, method.counting)
            if ledger:
                own = name_published_stages(statement)
                refuse_other_counts(cells, declared, [entry for entry in ledger if entry.get("stage") in own])
        return cls(
            guarantee=guarantee,
            coverage=coverage,
            evaluation=evaluation if isinstance(evaluation, Evaluation) else None,
            method=method,
            assumptions=Assumptions.of(statement),
            trail=trail,
            cell_map=cell_map,
            strongest=None if weights is None or method.summing is None else Strongest.of(weights, declared),
            numbers=evaluation if isinstance(evaluation, NumberEvaluation) else None,
        )


def _refuse_other_run(statement: PublicJson, coverage: Coverage) -> None:
    """Refuse labels that are not those of the statement: the promise beside them would be another run's."""
    counted = {
        "answered": coverage.overall.labelled,
        "abstained": coverage.overall.abstained,
    }
    for name, found in counted.items():
        if statement.get(name, found) != found:
            raise InvalidData(
                f"The statement says {name}: {statement[name]}, and the labels file has {found}; "
                "give the statement and the labels of the same run."
            )


def _method(
    statement: PublicJson, plan: PublicJson | None, classes: Classes, settings: dict[str, Any]
) -> MethodShown:
    name = str(statement.get("mechanism", "not stated"))
    known = REGISTRY.get(name)
    learner, student = settings.pop("learner", None), settings.pop("student", None)
    known_range = settings.pop("number_range", None)
    settings.pop("options", None)  # for a further run; all that matters here is told by the plan
    return MethodShown(
        mechanism=name,
        summary=known.summary if known else SUMMARIES.get(name, ""),
        parameters=_sorted_items(statement.get("parameters")),
        settings=tuple((key, value) for key, value in settings.items() if value is not None),
        teachers=int(number(statement, "teachers")),
        classes=classes.names,
        sharded_by_mapl=plan is not None,
        learner=None if learner is None else str(learner),
        student=None if student is None else str(student),
        stages=_stages(statement, plan),
        why=str((plan or {}).get("why") or ""),
        counting=Counting.of(statement, plan),
        summing=StatedSums.of(statement),
        selected=None if statement.get("selected") is None else str(statement["selected"]),
        number_range=None if known_range is None else NumberRange(*known_range),
        n_labels=len(settings.get(LABELS) or [None]),
    )


def _stages(statement: PublicJson, plan: PublicJson | None) -> tuple[StageRow, ...]:
    """Lay the plan's stages beside the statement's; a run without a plan is one stage with all the budget."""
    whole = {
        "name": "labels",
        "mechanism": statement.get("mechanism"),
        "epsilon": statement["guaranteed_epsilon"],
        "delta": statement["delta"],
    }
    spent = {str(stage.get("name")): stage for stage in statement.get("stages") or (whole,)}
    planned = {str(stage.get("name")): stage for stage in (plan or {}).get("stages") or ()}
    if not planned and len(spent) == 1:
        planned = {name: {"budget": {"epsilon": statement["budget_epsilon"]}} for name in spent}
    return tuple(
        _stage(name, planned.get(name, {}), spent.get(name, {})) for name in dict.fromkeys((*planned, *spent))
    )


def _stage(name: str, planned: PublicJson, spent: PublicJson) -> StageRow:
    allowed = planned.get("budget") or {}
    return StageRow(
        name=name,
        mechanism=str(spent.get("mechanism") or planned.get("mechanism") or "not stated"),
        planned_epsilon=_finite(allowed.get("epsilon")),
        epsilon=_finite(spent.get("epsilon")),
        delta=_finite(spent.get("delta", allowed.get("delta"))) or 0.0,
        units=None if spent.get("units") in (None, EVERYBODY) else str(spent["units"]),
    )


def _finite(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _sorted_items(record: PublicJson | None) -> tuple[tuple[str, Any], ...]:
    pairs: Iterable[tuple[str, Any]] = (record or {}).items()
    return tuple(sorted((str(key), value) for key, value in pairs))
