"""``mapl audit``: what it prints, what it returns, what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from mapl.audit.counts.twins import CELL_TWINS
from mapl.audit.further_audits import AUDITS as FURTHER
from mapl.audit.predictions.audits import AUDITS as PREDICTORS
from mapl.audit.votes.twins import TWINS
from mapl.cli import app
from mapl.mechanisms import REGISTRY
from mapl.types import ADJACENCY, UNIT

BUDGET = ("--epsilon", "2", "--delta", "1e-5")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["audit", *(str(a) for a in arguments)])


def test_a_ladder_is_within_its_claim() -> None:
    ran = run("--mechanism", "ladder", *BUDGET, "--json")
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert (said["mechanism"], said["verdict"], said["certified"]) == ("ladder", "within the claim", True)
    assert (said["adjacency"], said["unit"]) == (ADJACENCY, UNIT)
    assert said["epsilon"] <= 2
    assert 0 < said["found_delta_lower"] <= said["found_delta_upper"] <= said["delta"] == 1e-5
    assert said["renyi_found"] <= said["renyi_claimed"]
    assert said["details"]["limits"]["abstentions"] == 3


def test_the_table_shows_claimed_and_found() -> None:
    ran = run("--mechanism", "noisy-max", *BUDGET, "--queries", 10)
    assert ran.exit_code == 0, ran.output
    for row in ("claimed", "adjacency", "unit", "found delta", "Renyi, order", "exact certificate", "verdict"):
        assert row in ran.stdout
    assert "within the claim" in ran.stdout


def test_a_broken_twin_ends_with_exit_code_one() -> None:
    ran = run("--mechanism", "ladder", *BUDGET, "--twin", "gap-distance", "--teachers", 80)
    assert ran.exit_code == 1
    assert "violated" in ran.stdout
    assert "distance gap - 1" in ran.stdout
    said = json.loads(
        run("--mechanism", "ladder", *BUDGET, "--twin", "one-order", "--teachers", 80, "--json").stdout
    )
    assert (said["twin"], said["verdict"], said["certified"]) == ("one-order", "violated", False)


def test_all_mechanisms_are_audited() -> None:
    ran = run("--mechanism", "all", *BUDGET, "--queries", 8, "--max-abstentions", 2, "--teachers", 40, "--json")
    assert ran.exit_code == 0, ran.output
    findings = {f["mechanism"]: f["verdict"] for f in json.loads(ran.stdout)["findings"]}
    assert set(findings) == {*REGISTRY, "cell-counts", *PREDICTORS, *FURTHER}
    assert findings.pop("majority") == "claims nothing"
    # Nearly all of its delta is reached, so the upper end of a grid's chords lies above it.
    assert findings.pop("noisy-mean") == "no violation found"
    assert findings.pop("noisy-shares") == "no violation found"
    assert set(findings.values()) == {"within the claim"}


def test_all_says_whom_it_could_not_audit() -> None:
    ran = run("--mechanism", "all", *BUDGET, "--queries", 3, "--teachers", 20, "--twin", "softmax", "--json")
    assert ran.exit_code == 1, ran.output
    [finding] = json.loads(ran.stdout)["findings"]
    assert (finding["mechanism"], finding["verdict"]) == ("exponential-vote", "violated")
    assert "ladder not audited: ladder has no twin softmax; it has: gap-distance" in ran.stderr
    assert "cell-counts not audited: cell-counts has no twin softmax; it has: private-cells" in ran.stderr


def test_cell_counts_are_audited_from_records_to_noise() -> None:
    ran = run("--mechanism", "cell-counts", *BUDGET)
    assert ran.exit_code == 0, ran.output
    said = " ".join(ran.stdout.replace("│", " ").split())
    assert "claimed epsilon 2 at delta 0" in said
    assert "adjacency all records of one person are added to the private table or removed from it" in said
    assert "unit one person, that is all records with one value of the column person" in said
    assert "all 1,885 tables of a small world" in said
    assert "within the claim" in said


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one", "labels"])
def test_cell_counts_are_audited_for_every_adjacency(adjacency: str) -> None:
    ran = run("--mechanism", "cell-counts", *BUDGET, "--adjacency", adjacency, "--classes", 3, "--json")
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert (said["verdict"], said["certified"], said["delta"]) == ("within the claim", True, 0)
    assert said["details"]["sensitivity_found"] == (1 if adjacency == "add-remove" else 2)
    assert "person" in said["adjacency"]


def test_classes_are_given_by_names_or_by_their_number() -> None:
    by_name, by_number = (
        json.loads(run("--mechanism", "cell-counts", *BUDGET, "--classes", classes, "--json").stdout)
        for classes in ("no,yes,perhaps", 3)
    )
    assert by_name == by_number != json.loads(run("--mechanism", "cell-counts", *BUDGET, "--json").stdout)


@pytest.mark.parametrize("twin", CELL_TWINS)
def test_every_twin_of_the_cell_counts_ends_with_exit_code_one(twin: str) -> None:
    ran = run("--mechanism", "cell-counts", *BUDGET, "--twin", twin)
    assert ran.exit_code == 1, ran.output
    said = " ".join(ran.stdout.replace("│", " ").split())
    assert f"broken twin {twin}: {CELL_TWINS[twin].summary}" in said
    for words in ("shown by ann at", "exact certificate NO", "verdict violated"):
        assert words in said.replace("bob", "ann")


@pytest.mark.parametrize("name", PREDICTORS)
def test_single_answers_are_audited_on_every_small_sample(name: str) -> None:
    ran = run("--mechanism", name, "--epsilon", 2, "--delta", 0, "--adjacency", "replace-one")
    assert ran.exit_code == 0, ran.output
    said = " ".join(ran.stdout.replace("│", " ").split())
    assert "claimed epsilon 2 at delta 0" in said
    assert "one record is replaced by any other" in said
    assert "samples of a small world" in said
    assert "within the claim" in said


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_twin_of_a_predictor_ends_with_exit_code_one(name: str) -> None:
    twin, summary = next(iter(PREDICTORS[name].twins.items()))
    ran = run("--mechanism", name, "--epsilon", 2, "--delta", 0, "--twin", twin)
    assert ran.exit_code == 1, ran.output
    said = " ".join(ran.stdout.replace("│", " ").split())
    assert f"broken twin {twin}: {summary}" in said
    assert "shown by a record at 0 of class 0" in said
    assert json.loads(run("--mechanism", name, "--epsilon", 2, "--delta", 0, "--twin", twin, "--json").stdout)[
        "details"
    ]["witness"]


@pytest.mark.parametrize("name", FURTHER)
def test_soft_labels_stable_queries_and_selections_are_audited(name: str) -> None:
    ran = run("--mechanism", name, *BUDGET, "--json")
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert said["verdict"] in ("within the claim", "no violation found")
    assert said["mechanism"] == name
    assert said["found_delta_lower"] <= said["delta"] <= 1e-5
    assert said["certified"] in (True, None)
    assert {"adjacency", "unit"} <= set(said)


@pytest.mark.parametrize(("name", "twin"), [(name, twin) for name, one in FURTHER.items() for twin in one.twins])
def test_every_twin_of_these_ends_with_exit_code_one(name: str, twin: str) -> None:
    neighbours = ("--adjacency", "replace-one") if twin == "come-and-go-only" else ()
    ran = run("--mechanism", name, *BUDGET, "--twin", twin, *neighbours)
    assert ran.exit_code == 1, ran.output
    said = " ".join(ran.stdout.replace("│", " ").split())
    assert f"broken twin {twin}: {FURTHER[name].twins[twin]}" in said
    assert "verdict violated" in said


@pytest.mark.parametrize("name", ["stable-query", "best-of", "random-repetition"])
def test_these_are_audited_for_replaced_units(name: str) -> None:
    ran = run("--mechanism", name, *BUDGET, "--adjacency", "replace-one")
    assert ran.exit_code == 0, ran.output
    assert "replaced" in ran.stdout
    assert "within the claim" in ran.stdout


def test_a_twin_that_does_not_show_is_said_not_to() -> None:
    ran = run("--mechanism", "stable", "--epsilon", 0.01, "--delta", 0, "--twin", "double-cost")
    assert ran.exit_code == 0
    assert "does not show in a world so small; try --epsilon 2" in ran.stderr


def test_a_pure_claim_is_audited_at_delta_zero() -> None:
    ran = run("--mechanism", "permute-and-flip", "--epsilon", 1, "--delta", 0, "--queries", 3, "--classes", 3)
    assert ran.exit_code == 0, ran.output
    assert "within the claim" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mechanism", "ladders", *BUDGET), "There is no mechanism 'ladders'"),
        (("--mechanism", "ladders", *BUDGET), "Did you mean 'ladder"),
        (("--mechanism", "ladder", "--epsilon", "-1", "--delta", "1e-5"), "epsilon is -1"),
        (("--mechanism", "ladder", "--epsilon", "2", "--delta", "1"), "delta is 1"),
        (("--mechanism", "ladder", *BUDGET, "--twin", "nobody"), "There is no twin 'nobody'"),
        (("--mechanism", "link", *BUDGET, "--twin", "softmax"), "link has no twin softmax"),
        (("--mechanism", "ladder-then-link", *BUDGET, "--classes", "3"), "works for 2 classes"),
        (("--mechanism", "ladder", *BUDGET, "--queries", "0"), "queries is 0"),
        (("--mechanism", "ladder", *BUDGET, "--teachers", "0"), "teachers is 0"),
        (("--mechanism", "ladder", *BUDGET, "--max-abstentions", "0"), "max_abstentions is 0"),
        (("--mechanism", "ladder", *BUDGET, "--classes", "9", "--teachers", "90"), "Audit fewer teachers"),
        (("--mechanism", "ladder", *BUDGET, "--adjacency", "labels"), "Only cell-counts, padded-stumps"),
        (("--mechanism", "stable", *BUDGET, "--adjacency", "labels"), "choose add-remove or replace-one"),
        (("--mechanism", "stable", *BUDGET, "--classes", "3"), "stable works for 2 classes, not 3"),
        (("--mechanism", "padded-stumps", *BUDGET, "--twin", "softmax"), "padded-stumps has no twin softmax"),
        (("--mechanism", "cell-counts", *BUDGET, "--twin", "softmax"), "cell-counts has no twin softmax"),
        (("--mechanism", "cell-counts", *BUDGET, "--classes", "9"), "Audit fewer classes"),
        (("--mechanism", "noisy-mean", *BUDGET, "--twin", "softmax"), "noisy-mean has no twin softmax"),
        (("--mechanism", "noisy-mean", "--epsilon", "2", "--delta", "0"), "Gaussian noise needs a positive delta"),
        (
            ("--mechanism", "stable-query", "--epsilon", "2", "--delta", "0"),
            "a stable answer needs a positive delta",
        ),
        (("--mechanism", "stable-query", *BUDGET, "--adjacency", "labels"), "not labels; choose one of them"),
        (("--mechanism", "soft-medians", *BUDGET, "--adjacency", "labels"), "leave it away"),
        (("--mechanism", "best-of", *BUDGET, "--twin", "come-and-go-only"), "give --adjacency replace-one"),
        (("--mechanism", "best-of", "--epsilon", "40", "--delta", "0"), "an audit takes at most 30"),
        (("--mechanism", "cell-counts", "--epsilon", "40", "--delta", "0"), "an audit takes at most 30"),
        (("--mechanism", "cell-counts", "--epsilon", "1e-6", "--delta", "0"), "must be at least 0.0001"),
        (("--mechanism", "cell-counts", *BUDGET, "--classes", "0"), "n_classes is 0"),
    ],
)
def test_bad_input_ends_with_exit_code_two_and_advice(arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)
    assert ran.exit_code == 2, ran.output
    assert message in ran.stderr
    assert "Traceback" not in ran.output
    assert ran.stdout == ""


def test_help_names_every_twin() -> None:
    said = " ".join(run("--help").stdout.split())
    assert all(name.split("-")[0] in said for name in (*TWINS, *CELL_TWINS, *PREDICTORS["stable"].twins))
    assert "cell-counts" in said
