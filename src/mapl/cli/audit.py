"""``mapl audit``: what a mechanism claims, next to what the best adversary finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import typer
from rich.table import Table

from mapl.audit import Finding, Verdict
from mapl.audit import audit as examine
from mapl.audit.cell_twins import CELL_TWINS
from mapl.audit.cell_twins import examined as examined_cells
from mapl.audit.prediction_audits import AUDITS as PREDICTORS
from mapl.audit.prediction_audits import examined as examined_predictor
from mapl.audit.size import enough_teachers
from mapl.audit.twins import TWINS, Twin, twin_of
from mapl.cli.console import out, tell
from mapl.errors import InvalidParameter, MaplError
from mapl.mechanisms import REGISTRY, AnyMechanism, Task, entry, make
from mapl.release.cell_counts import CellCounts
from mapl.release.loop import refuse_senseless
from mapl.release.statement import to_json
from mapl.types import Budget, positive_integer

VIOLATED = 1
EVERY = "all"
CELLS = CellCounts.name
PREDICTOR_TWINS = "; ".join(f"of {name}: {', '.join(one.twins)}" for name, one in PREDICTORS.items())


class Neighbours(StrEnum):
    """Which tables are neighbours where records are counted; votes have one adjacency."""

    add_remove = "add-remove"
    replace_one = "replace-one"
    labels = "labels"


@dataclass(frozen=True, slots=True)
class Subject:
    """What to audit: a mechanism by name, its budget, and the size of the instance."""

    name: str
    budget: Budget
    classes: int
    teachers: int | None
    max_abstentions: int
    queries: int
    twin: str | None

    def __post_init__(self) -> None:
        positive_integer(max_abstentions=self.max_abstentions, queries=self.queries)
        if self.teachers is not None:
            positive_integer(teachers=self.teachers)
        refuse_senseless(self.name, self.budget)
        if self.twin is not None and self.twin not in TWINS:
            raise InvalidParameter(f"There is no twin {self.twin!r}. Choose one of: {', '.join(TWINS)}.")

    def calibrated(self, n_teachers: int) -> AnyMechanism:
        """Calibrate the mechanism for this many teachers."""
        settings: dict[str, Any] = {}
        if "max_abstentions" in entry(self.name).settings:
            settings["max_abstentions"] = self.max_abstentions
        return make(self.name, Task(self.budget, n_teachers, self.classes, self.queries), **settings)

    def examined(self) -> Finding:
        """Carry the audit out."""
        kind = entry(self.name).mechanism
        n_teachers = self.teachers or enough_teachers(kind, self.calibrated, self.classes)
        honest = self.calibrated(n_teachers)
        subject = Twin(honest, honest) if self.twin is None else twin_of(self.twin, honest)
        # A limit that is off by one shows itself only one abstention later.
        questions = max(self.queries, self.max_abstentions + 2)
        return examine(
            subject.claims,
            self.budget,
            n_teachers=n_teachers,
            n_classes=self.classes,
            questions=questions,
            law=subject.law,
        )


def audit(
    mechanism: str = typer.Option(
        help=f"A name of `mapl mechanisms`, {CELLS}, a method of `mapl answer` ({', '.join(PREDICTORS)}), or all."
    ),
    epsilon: float = typer.Option(
        help="Privacy budget that the mechanism is calibrated for; of single answers, that of one answer."
    ),
    delta: float = typer.Option(help="Failure probability that the mechanism is calibrated for."),
    classes: int = typer.Option(2, help="Number of classes."),
    teachers: int | None = typer.Option(None, help="Number of teachers.", show_default="enough, if enumerable"),
    max_abstentions: int = typer.Option(3, help="Abstentions after which the mechanism halts."),
    queries: int = typer.Option(40, help="Number of questions that the adversary asks."),
    adjacency: Neighbours | None = typer.Option(
        None, help=f"Of {CELLS} and of single answers only.", show_default="add-remove"
    ),
    twin: str | None = typer.Option(
        None,
        help=f"Audit a broken twin instead: {', '.join(TWINS)}; of {CELLS}: {', '.join(CELL_TWINS)}; "
        f"{PREDICTOR_TWINS}.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Let an adversary who knows all but the coins attack a mechanism; print what it claims and what was found.

    Exit code 0: no violation. Exit code 1: the claim is violated. Exit code 2: bad input.
    """
    budget = Budget(epsilon, delta)
    if adjacency is not None and mechanism not in (CELLS, EVERY, *PREDICTORS):
        raise InvalidParameter(
            f"Only {CELLS} and {', '.join(PREDICTORS)} have a choice of --adjacency; leave it away, or audit one "
            "of these."
        )
    neighbours = Neighbours.add_remove if adjacency is None else adjacency

    def examined(name: str, n_classes: int) -> Finding:
        if name == CELLS:
            return examined_cells(budget.epsilon, n_classes, adjacency=neighbours.value, twin=twin)
        if name in PREDICTORS:
            if n_classes != 2:
                raise InvalidParameter(f"{name} works for 2 classes, not {n_classes}; leave --classes away.")
            return examined_predictor(name, budget.epsilon, adjacency=neighbours.value, twin=twin)
        return Subject(name, budget, n_classes, teachers, max_abstentions, queries, twin).examined()

    findings = _all(examined, classes) if mechanism == EVERY else {mechanism: examined(mechanism, classes)}
    if as_json:
        rows = [{"mechanism": name, "twin": twin, **_plain(f)} for name, f in findings.items()]
        typer.echo(to_json({"findings": rows} if mechanism == EVERY else rows[0]))
    else:
        for name, finding in findings.items():
            out.print(table(name, finding, twin))
    if any(f.violated for f in findings.values()):
        raise typer.Exit(VIOLATED)
    if twin is not None:
        tell("mapl: at this epsilon the twin's mistake does not show in a world so small; try --epsilon 2.")


def _all(examined: Callable[[str, int], Finding], classes: int) -> dict[str, Finding]:
    """Audit everything that this budget can be kept with."""
    findings: dict[str, Finding] = {}
    for name in (*REGISTRY, CELLS, *PREDICTORS):
        possible = entry(name).classes if name in REGISTRY else (2,) if name in PREDICTORS else None
        fitting = classes if possible is None or classes in possible else possible[0]
        try:
            findings[name] = examined(name, fitting)
        except MaplError as refused:
            tell(f"mapl: {name} not audited: {refused}")
    if not findings:
        raise InvalidParameter("No mechanism could be audited with these settings; see the messages above.")
    return findings


def _plain(finding: Finding) -> dict[str, Any]:
    return {key: value for key, value in finding.to_dict().items() if key != "mechanism"}


def table(name: str, finding: Finding, twin: str | None) -> Table:
    """Lay a finding out for people."""
    title = f"Audit of {name}" + ("" if twin is None else f", broken twin {twin}: {_mistake(name, twin)}")
    shown = Table(title=title, title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_row("claimed", f"epsilon {finding.epsilon:.4g} at delta {finding.delta:g}")
    shown.add_row("adjacency", finding.adjacency)
    shown.add_row("unit", finding.unit)
    if finding.verdict is not Verdict.claims_nothing:
        upper = "?" if finding.found_delta_upper is None else f"{finding.found_delta_upper:.3g}"
        asked = f"{finding.questions} question{'s' * (finding.questions != 1)}"
        shown.add_row("found delta", f"{finding.found_delta_lower:.3g} .. {upper} ({asked})")
    if finding.renyi_order is not None:
        shown.add_row(
            f"Renyi, order {finding.renyi_order:.4g}",
            f"claimed {finding.renyi_claimed:.6g}, found {finding.renyi_found:.6g}",
        )
    if "tables" in finding.details:
        tables, changes = finding.details["tables"], finding.details["changes"]
        shown.add_row("tried", f"all {tables:,} tables of a small world, all {changes:,} changes of one unit")
    if "samples" in finding.details:
        samples, pairs = finding.details["samples"], finding.details["pairs"]
        shown.add_row("tried", f"all {samples:,} samples of a small world, all {pairs:,} pairs of neighbours")
    if finding.details.get("witness"):
        shown.add_row("shown by", "\nand ".join(map(_records, finding.details["witness"][:2])))
    certificate = {True: "yes", False: "NO", None: "has none"}[finding.certified]
    shown.add_row("exact certificate", certificate)
    exceeded = ", ".join(finding.details.get("exceeded", ()))
    shown.add_row("verdict", finding.verdict.value + (f" ({exceeded})" if exceeded else ""))
    return shown


def _mistake(name: str, twin: str) -> str:
    if name in PREDICTORS:
        return PREDICTORS[name].twins[twin]
    return CELL_TWINS[twin].summary if name == CELLS else TWINS[twin].summary


def _records(table: Sequence[Sequence[Any]]) -> str:
    """Write down a table, or a sample without units, of a made-up world."""
    return ", ".join(_record(*record) for record in table) or "no records"


def _record(*parts: Any) -> str:
    *unit, point, label = parts
    places = " ".join(f"{value:g}" for value in (point if isinstance(point, tuple) else (point,)))
    return f"{unit[0] if unit else 'a record'} at {places} of class {label}"
