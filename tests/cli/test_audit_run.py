"""``mapl audit --run``: what it prints of a finished set-up, what it returns, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mapl.audit.runs.set_up import SetUp
from mapl.mechanisms import make

Mapl = Callable[..., Any]


@pytest.fixture
def run(mapl: Mapl, clinic: Any) -> str:
    ran = mapl(*clinic.arguments("--epsilon", 1))
    assert ran.code == 0, ran.stderr
    return "run"


def test_a_set_up_is_attacked_beside_its_claim(mapl: Mapl, run: str) -> None:
    """With the system's noise: an honest set-up of votes is called broken with a chance far below 1e-6."""
    ran = mapl("audit", "--run", run, "--trials", 60)
    assert ran.code == 0, ran.stderr
    said = " ".join(ran.stdout.replace("│", " ").replace("┃", " ").split())
    for words in ("claimed epsilon 1 at delta 1e-05", "adjacency all records of one", "unit one", "95% confidence"):
        assert words in said
    assert said.count("caught") == said.count("holds") == 3
    assert "nothing private was read or spent" in ran.stderr


def test_the_same_as_json(mapl: Mapl, run: str) -> None:
    ran = mapl("audit", "--run", run, "--trials", 60, "--seed", 1, "--json")
    assert ran.code == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["epsilon"], said["delta"], said["broken"], said["says_nothing"]) == (1, 1e-5, False, False)
    assert said["adjacency"]
    assert said["unit"]
    assert [one["control"] for one in said["attacks"]] == [False] * 3 + [True] * 3


def test_a_broken_set_up_ends_with_exit_code_one(mapl: Mapl, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SetUp, "mechanism", lambda self: make("majority", self.task))
    ran = mapl("audit", "--run", run, "--trials", 60)
    assert ran.code == 1
    assert "BROKEN" in ran.stdout
    assert "three attacks in a row prove a larger epsilon" in ran.stderr


def test_an_attack_that_is_too_weak_says_so_and_ends_with_exit_code_one(mapl: Mapl, run: str) -> None:
    ran = mapl("audit", "--run", run, "--trials", 6, "--canaries", 4)
    assert ran.code == 1
    assert "NOT CAUGHT" in ran.stdout.replace("\n", " ") or "NOT" in ran.stdout
    assert "too weak to say anything" in ran.stderr
    assert "delta 1e-05; adjacency: " in ran.stderr
    assert "Take more --trials" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run", "nowhere"), "holds no public half of a run"),
        (("--run", "x", "--mechanism", "ladder"), "A run brings its own mechanism and budget"),
        (("--run", "x", "--confidence", 1.5), "The confidence is 1.5"),
        (("--run", "x", "--trials", 0), "trials is 0"),
        (("--run", "x", "--trials", 2), "There are 2 trials"),
        ((), "Give --mechanism NAME with --epsilon and --delta"),
        (("--mechanism", "ladder", "--epsilon", 1), "Give --mechanism NAME with --epsilon and --delta"),
        (("--mechanism", "ladder", "--epsilon", 1, "--delta", 1e-5, "--trials", 9), "are for --run"),
    ],
)
def test_bad_input_ends_with_exit_code_two(mapl: Mapl, arguments: tuple[Any, ...], message: str) -> None:
    ran = mapl("audit", *arguments)
    assert ran.code == 2
    assert message in " ".join(ran.stderr.split())
    assert ran.stdout == ""
