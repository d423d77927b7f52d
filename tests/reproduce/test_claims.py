"""Verdicts follow from numbers: every claim can fail, and the cheapest are carried out."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapl.cli import app
from mapl.cli.verbs import command_of
from mapl.reproduce.carry_out import as_values, reproduce, reproduce_claim
from mapl.reproduce.claim import Absent, Demand, Evidence, PaperClaim, Ruling
from mapl.reproduce.effort import ReproductionEffort
from mapl.reproduce.papers import PAPERS, claims_of

EVERY = [(paper, claim) for paper in PAPERS for claims in claims_of(paper).values() for claim in claims]
CHEAP = {
    "btt18": ("theorem-2.4", "theorem-2.5", "algorithm-2-distance", "algorithm-2-loop", "lemma-3.3", "remark-3"),
    "lzcw21": (
        *("theorem-2-gaussian", "table-1-exponents", "example-8", "example-9", "definition-10"),
        *("vote-dimension", "theorem-12", "theorem-13", "remark-14"),
    ),
    "df20": ("lemma-7", "theorem-1-rows", "theorem-4", "corollary-1-privacy", "df18-softmax", "lemma-9"),
}
QUICK = ReproductionEffort()


def named(paper: str, name: str) -> PaperClaim:
    (found,) = (claim for claims in claims_of(paper).values() for claim in claims if claim.name == name)
    return found


def within(demand: Demand) -> float:
    """Return a figure that meets a demand."""
    if math.isinf(demand.least):
        return demand.most
    return demand.least if math.isinf(demand.most) else (demand.least + demand.most) / 2


def break_demand(demand: Demand) -> Iterator[float]:
    """Yield figures that do not meet a demand."""
    yield math.nan
    if math.isfinite(demand.most):
        yield demand.most + 1 + abs(demand.most)
    if math.isfinite(demand.least):
        yield demand.least - 1 - abs(demand.least)


@pytest.mark.parametrize("claim", [claim for _, claim in EVERY], ids=lambda claim: claim.name)
def test_wrong_numbers_get_another_verdict(claim: PaperClaim) -> None:
    good = {demand.figure: within(demand) for demand in claim.corrected} | {
        d.figure: within(d) for d in claim.printed
    }
    assert claim.rule(good) is Ruling.holds
    for demand in claim.printed:
        for wrong in break_demand(demand):
            assert claim.rule({**good, demand.figure: wrong}) is not Ruling.holds
    # Whatever the corrected claim demands, it fails without it where the printed one fails.
    nothing = dict.fromkeys(good, math.nan)
    assert claim.rule(nothing) is Ruling.fails
    assert bool(claim.corrected) == bool(claim.correction)


@pytest.mark.parametrize(("paper", "name"), [(paper, name) for paper, names in CHEAP.items() for name in names])
def test_cheap_claims_have_the_verdict_of_the_docs(paper: str, name: str) -> None:
    claim = named(paper, name)
    measured = claim.measure(QUICK)
    assert {demand.figure for demand in (*claim.printed, *claim.corrected)} <= measured.figures.keys()
    assert claim.rule(measured.figures) in (Ruling.holds, Ruling.corrected)
    # Deterministic: the same effort gives the same numbers.
    assert claim.measure(QUICK) == measured


def test_names_are_words_for_addresses_and_tell_claims_apart() -> None:
    for paper in PAPERS:
        names = [claim.name for claims in claims_of(paper).values() for claim in claims]
        assert len(set(names)) == len(names)
        assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for name in names)


def test_what_is_absent_is_skipped_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(effort: ReproductionEffort) -> Evidence:
        raise Absent("there are no votes; give --votes")

    def found(effort: ReproductionEffort) -> Evidence:
        return Evidence({"x": math.inf})

    claims = tuple(
        PaperClaim(name, "Theorem 1", "x is large.", measure, (Demand("x", least=1),), "x")
        for name, measure in (("gone", absent), ("there", found))
    )
    monkeypatch.setattr("mapl.reproduce.carry_out.claims_of", lambda paper: {"all": claims})
    steps: list[int] = []
    ruled = reproduce("btt18", QUICK, steps.append)
    assert steps == [1, 2]
    assert [one.ruling for one in ruled] == [Ruling.skipped, Ruling.holds]
    values = as_values("btt18", QUICK, ruled)["claims"]
    assert values[0]["skipped_because"] == "there are no votes; give --votes"
    assert values[1]["figures"] == {"x": "inf"}
    assert values[1]["criterion"] == "holds if “x” is at least 1"


def test_commands_beside_claims_are_understood() -> None:
    """Bounds are computed; of audits and reproductions the options are read, and nothing is carried out."""
    bounds = CliRunner()
    for _, claim in EVERY:
        verb, *arguments = shlex.split(claim.check)[1:] if claim.check.startswith("mapl ") else ("", "")
        assert verb != "reproduce"  # `command` says that at its own effort
        if verb == "bounds" and "theorem-2-rows" not in arguments:
            found = bounds.invoke(app, [verb, *arguments])
            assert found.exit_code == 0, (claim.name, found.stderr)
        elif verb == "audit":
            command_of(verb).make_context(verb, list(arguments))


def ask(command: str) -> dict[str, object]:
    found = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
    assert found.exit_code == 0, found.stderr
    ((claim,),) = (paper["claims"] for paper in json.loads(found.stdout)["papers"])
    return dict(claim)


def test_the_command_beside_a_claim_gives_the_figures_beside_it() -> None:
    """At the small sizes and at the large ones, which differ."""
    claim, sizes = named("btt18", "lemma-3.3"), []
    for effort in (QUICK, ReproductionEffort(quick=False)):
        (said,) = as_values("btt18", effort, [reproduce_claim("btt18", claim.name, effort)])["claims"]
        assert ask(said["command"]) == json.loads(json.dumps(said))
        sizes.append(said["figures"]["cases with B/ξ contested questions or more"])
    assert sizes == [156, 476]  # as in docs/reproduce.md and in benchmarks/results/reproduce.md


def test_every_command_is_understood_and_names_the_folders_it_needs() -> None:
    for paper, claim in EVERY:
        for effort in (QUICK, ReproductionEffort(quick=False)):
            verb, *arguments = shlex.split(claim.command(paper, effort))[1:]
            assert ("--quick" in arguments) == effort.quick
            asked = command_of(verb).make_context(verb, list(arguments)).params
            assert {name for name in ("votes", "data") if asked[name] is not None} == set(claim.given)
        if claim.given:
            with pytest.raises(Absent, match=f"--{claim.given[0]}"):
                claim.measure(QUICK)


def test_one_claim_writes_no_page_and_a_wrong_name_is_told_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["reproduce", "df20", "--claim", "lemma-9", "--quick"])
    assert shown.exit_code == 0
    assert "Verdict: holds corrected" in shown.stdout
    assert not list(tmp_path.iterdir())
    absent = CliRunner().invoke(app, ["reproduce", "pate", "--claim", "2018-adult"])
    assert "Skipped: " in absent.stdout
    wrong = CliRunner().invoke(app, ["reproduce", "df20", "--claim", "lemma-99"])
    assert (wrong.exit_code, "lemma-9, " in wrong.stderr or "lemma-9." in wrong.stderr) == (2, True)
    assert "'lemma-99'" in wrong.stderr
    every = CliRunner().invoke(app, ["reproduce", "all", "--claim", "lemma-9"])
    assert (every.exit_code, "one paper" in every.stderr) == (2, True)
