"""``mapl audit``: what a mechanism claims, next to what the best adversary finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from mapl.audit import Finding, Verdict
from mapl.audit import audit as examine
from mapl.audit.counts.twins import CELL_TWINS
from mapl.audit.counts.twins import examine_counts as examined_cells
from mapl.audit.further_audits import AUDITS as FURTHER
from mapl.audit.further_audits import Instance
from mapl.audit.further_audits import examine_further as examined_further
from mapl.audit.predictions.audits import AUDITS as PREDICTORS
from mapl.audit.predictions.audits import examine_predictor as examined_predictor
from mapl.audit.votes.size import enough_teachers
from mapl.audit.votes.twins import TWINS, MechanismTwin, twin_of
from mapl.cli.auditing.audit_run import attack
from mapl.cli.console import out, tell
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.labels import NAMES_OR_NUMBER, count_classes
from mapl.errors import InvalidParameter, MaplError
from mapl.mechanisms import REGISTRY, AnyMechanism, Task, entry, make
from mapl.release.cell_counts import CellCounts
from mapl.release.loop import refuse_senseless
from mapl.release.statement.statement import to_json
from mapl.types import Budget, positive_integer

VIOLATED = 1
EVERY = "all"
CELLS = CellCounts.name
OTHERS = {name: one.twins for name, one in PREDICTORS.items()} | {name: one.twins for name, one in FURTHER.items()}
OTHER_TWINS = "; ".join(f"of {name}: {', '.join(twins)}" for name, twins in OTHERS.items())
WITH_ADJACENCY = (CELLS, *PREDICTORS, *(name for name, one in FURTHER.items() if one.adjacencies))
THEIRS = ", ".join(WITH_ADJACENCY)


RUNS = "Finished set-ups (with --run)"


class AuditedNeighbours(StrEnum):
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
        subject = MechanismTwin(honest, honest) if self.twin is None else twin_of(self.twin, honest)
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
    mechanism: str | None = option(
        panels.METHOD,
        f"A name of `mapl mechanisms`, {CELLS}, a method of `mapl answer` ({', '.join(PREDICTORS)}), "
        f"{', '.join(FURTHER)}, or all.",
        None,
    ),
    epsilon: float | None = option(
        panels.BUDGET,
        "Privacy budget that the mechanism is calibrated for; of single answers, that of one answer.",
        None,
    ),
    delta: float | None = option(panels.BUDGET, "Failure probability that the mechanism is calibrated for.", None),
    classes: str = option(panels.METHOD, NAMES_OR_NUMBER, "2"),
    teachers: int | None = option(panels.METHOD, "Number of teachers.", None, show_default="enough, if enumerable"),
    max_abstentions: int = option(panels.METHOD, "Abstentions after which the mechanism halts.", 3),
    queries: int = option(panels.METHOD, "Number of questions that the adversary asks.", 40),
    adjacency: AuditedNeighbours | None = option(
        panels.BUDGET, f"Of {THEIRS} only.", None, show_default="add-remove"
    ),
    twin: str | None = option(
        panels.METHOD,
        f"Audit a broken twin instead: {', '.join(TWINS)}; of {CELLS}: {', '.join(CELL_TWINS)}; {OTHER_TWINS}.",
        None,
    ),
    run: Path | None = option(
        RUNS,
        "Attack a finished set-up instead: the folder of a run of `mapl learn` or `mapl teach`. Its public "
        "half is read, and rehearsed on made-up records.",
        None,
    ),
    public: Path | None = option(RUNS, "Public rows to rehearse on.", None, show_default="made up from the schema"),
    trials: int | None = option(
        RUNS, "Runs with the target, and as many without.", None, show_default="as the claim needs"
    ),
    canaries: int | None = option(RUNS, "Canaries to guess about.", None, show_default="as the claim needs"),
    confidence: float = option(RUNS, "The chance that all bounds are right.", 0.95),
    seed: int | None = option(RUNS, "Seed of what the attack chooses by lot; the noise has none.", None, min=0),
    as_json: bool = option(panels.RUNNING, "Print one JSON object instead of a table.", False, "--json"),
) -> None:
    """Attack a mechanism, or a finished set-up; print what it claims and what was found.

    With --mechanism an adversary who knows all but the coins is computed exactly; with --run the set-up is carried
    out on made-up records, and guesses about canaries bound epsilon from below. No private data is read and nothing
    is spent. Exit code 0: no violation. Exit code 1: the claim is violated, or the attack on a set-up did not catch
    its control and says nothing. Exit code 2: bad input.
    """
    if run is not None:
        if mechanism is not None or epsilon is not None or delta is not None or twin is not None:
            raise InvalidParameter(
                "A run brings its own mechanism and budget; leave --mechanism, --epsilon, --delta and --twin away, "
                "or leave --run away."
            )
        attack(
            run, rows=public, trials=trials, canaries=canaries, confidence=confidence, seed=seed, as_json=as_json
        )
        return
    if mechanism is None or epsilon is None or delta is None:
        raise InvalidParameter(
            "Give --mechanism NAME with --epsilon and --delta to audit a mechanism, or --run FOLDER to attack a "
            "finished set-up."
        )
    if public is not None or trials is not None or canaries is not None or seed is not None:
        raise InvalidParameter(
            "--public, --trials, --canaries and --seed are for --run, and a mechanism is audited exactly; leave "
            "them away."
        )
    budget = Budget(epsilon, delta)
    if adjacency is not None and mechanism not in (EVERY, *WITH_ADJACENCY):
        raise InvalidParameter(f"Only {THEIRS} have a choice of --adjacency; leave it away, or audit one of these.")
    neighbours = AuditedNeighbours.add_remove if adjacency is None else adjacency

    def examined(name: str, n_classes: int) -> Finding:
        if name == CELLS:
            return examined_cells(budget.epsilon, n_classes, adjacency=neighbours.value, twin=twin)
        if name in PREDICTORS:
            if n_classes != 2:
                raise InvalidParameter(f"{name} works for 2 classes, not {n_classes}; leave --classes away.")
            return examined_predictor(name, budget.epsilon, adjacency=neighbours.value, twin=twin)
        if name in FURTHER:
            asked = Instance(budget, neighbours.value, teachers, min(max_abstentions, 3), min(queries, 12))
            return examined_further(name, asked, twin=twin)
        return Subject(name, budget, n_classes, teachers, max_abstentions, queries, twin).examined()

    n_classes = count_classes(classes)
    findings = _all(examined, n_classes) if mechanism == EVERY else {mechanism: examined(mechanism, n_classes)}
    if as_json:
        listed = [{"mechanism": name, "twin": twin, **_plain(f)} for name, f in findings.items()]
        typer.echo(to_json({"findings": listed} if mechanism == EVERY else listed[0]))
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
    for name in (*REGISTRY, CELLS, *PREDICTORS, *FURTHER):
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
        shown.add_row("shown by", "\nand ".join(map(_records, _pair(finding.details["witness"]))))
    certificate = {True: "yes", False: "NO", None: "has none"}[finding.certified]
    shown.add_row("exact certificate", certificate)
    exceeded = ", ".join(finding.details.get("exceeded", ()))
    shown.add_row("verdict", finding.verdict.value + (f" ({exceeded})" if exceeded else ""))
    return shown


def _mistake(name: str, twin: str) -> str:
    if name in OTHERS:
        return OTHERS[name][twin]
    return CELL_TWINS[twin].summary if name == CELLS else TWINS[twin].summary


def _pair(witness: Any) -> Sequence[Any]:
    """Return two neighbouring tables that show what is wrong; where several things are, of the first of them."""
    pairs: Sequence[Any] = next(iter(witness.values())) if isinstance(witness, Mapping) else witness
    return pairs[:2]


def _records(table: Sequence[Sequence[Any]]) -> str:
    """Write down a table, or a sample without units, of a made-up world."""
    return ", ".join(_record(*record) for record in table) or "no records"


def _record(*parts: Any) -> str:
    if len(parts) == 2 and isinstance(parts[0], str):
        return f"{parts[0]} says {parts[1]}"
    *unit, point, label = parts
    places = " ".join(f"{value:g}" for value in (point if isinstance(point, tuple) else (point,)))
    return f"{unit[0] if unit else 'a record'} at {places} of class {label}"
