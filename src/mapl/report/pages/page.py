"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, Template

from mapl.errors import InvalidParameter
from mapl.release.files.write_once import write_once
from mapl.release.ledger.part import stage_of
from mapl.report.coverage import Tally
from mapl.report.pages.environment import make_environment
from mapl.report.plots import cell_map as map_plot
from mapl.report.plots import plots
from mapl.report.plots import spread as spread_plot
from mapl.report.plots.calibration import calibration_plot
from mapl.report.plots.whiskers import whiskers, write_signed
from mapl.report.report import Report

PLAN_DIGEST = """\
python -c "from mapl.planning.plan import Plan; print(Plan.from_json(open('plan.json').read()).digest)\""""
LEDGER_HEAD = """\
python -c "import json; from mapl.release.ledger.chain import check_export; \
print(check_export(map(json.loads, open('ledger.jsonl'))))\""""


def render(report: Report) -> str:
    """Return the page; the same report gives the same text. Everything from outside is escaped."""
    return _template().render(report=report, commands=_commands(report)).lstrip()


def write_report(path: Path, report: Report) -> None:
    """Write the page as a new file; one that is there already stays as it is."""
    try:
        write_once(path, render(report).encode(), same_is_fine=True)
    except FileExistsError:
        raise InvalidParameter(f"{path} exists and holds something else; choose another file.") from None
    except OSError as failure:
        raise InvalidParameter(
            f"{path} cannot be written ({failure.strerror}); make room, or choose another file."
        ) from None


def _template() -> Template:
    return environment().get_template("page.html")


@cache
def environment() -> Environment:
    """Return what pages about runs are made with: functions for pictures besides."""
    made = make_environment()
    made.globals |= {
        "attack_curve": plots.attack_curve,
        "bar": plots.bar,
        "budget_gauge": plots.budget_gauge,
        "calibration_plot": calibration_plot,
        "legend_of": map_plot.legend_of,
        "map_of_cells": map_plot.map_of_cells,
        "mark_key": map_plot.mark_key,
        "parts": _parts,
        "signed": write_signed,
        "size_keys": map_plot.size_keys,
        "spread_of_totals": spread_plot.spread_of_totals,
        "stacked_bar": plots.draw_stacked_bar,
        "whiskers": whiskers,
    }
    return made


def _parts(tally: Tally) -> list[plots.Part]:
    """Split the rows of a tally into what became of them."""
    whole = max(1, tally.rows)
    return [
        plots.Part("answered", tally.answered / whole, "answered"),
        plots.Part("answered by the second stage", tally.fallback / whole, "fallback"),
        plots.Part("abstained", tally.abstained / whole, "abstained"),
        plots.Part("not asked", tally.not_asked / whole, "unasked"),
    ]


def _commands(report: Report) -> list[tuple[str, str]]:
    """List what a reader can compute anew, and the command for it."""
    commands = []
    if report.trail.plan_digest:
        commands.append(("the digest of the plan", PLAN_DIGEST))
    if report.trail.ledger_head:
        commands.append(("the chain of the ledger and its head", LEDGER_HEAD))
    if report.guarantee.holds and report.method.can_be_audited:
        of_winner = stage_of(report.method.selected, "") if report.method.selected else ""
        epsilon = next(
            (
                stage.planned_epsilon
                for stage in report.method.stages
                if stage.mechanism == report.method.mechanism
                and stage.planned_epsilon
                and stage.name.startswith(of_winner)
            ),
            report.guarantee.budget,
        )
        commands.append(_audit(report, epsilon))
    return commands


def _audit(report: Report, epsilon: float) -> tuple[str, str]:
    """Return the audit of the run's mechanism with the run's budget, in a world small enough for it."""
    promise = report.guarantee
    command = f"mapl audit --mechanism {report.method.mechanism} --epsilon {epsilon:g} --delta {promise.delta:g}"
    if report.method.counting is None and report.method.summing is None:
        what = "what an adversary who knows all but the coins finds out when one teacher changes its votes"
        return what, f"{command} --classes {len(report.method.classes)}"
    what = "what an adversary who knows all but the coins finds out about one unit, in all tables of a small world"
    return what, command if promise.kind == "add-remove" else f"{command} --adjacency {promise.kind}"
