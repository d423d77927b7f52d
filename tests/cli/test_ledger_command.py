"""``mapl ledger``: what is printed of a ledger, what is checked, and how a copy comes to spend again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapl.release.ledger.chain import ANSWERS, START, Answers, Entry, check_export
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.opening import open_ledger
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import Secret

SECRET = 555_666_777


def fill(ledger: Any) -> str:
    ledger.open("f" * 64, Limits.of({"labels": Limit(20, 10)}))
    ledger.append(Entry(START, "labels", limit=Limit(15, 10)), secret=Secret(SECRET))
    answers = Answers(np.array([1, -1, 0], np.int8), None, 3)
    ledger.append(Entry(ANSWERS, "labels", 2, 1), secret=Secret(SECRET + 1), answers=answers)
    return str(ledger.head)


@pytest.fixture
def head(mapl: Callable[..., Any]) -> str:
    """Make a run with a ledger of three entries in the current folder."""
    Path("run/private").mkdir(parents=True)
    with SqliteLedger("run/private/ledger.sqlite") as ledger:
        return fill(ledger)


def test_show_tells_the_counters_and_nothing_private(mapl: Callable[..., Any], head: str) -> None:
    said = mapl("ledger", "show", "run")
    assert said.code == 0
    assert "labels: 2 of at most 15 answers, 1 of at most 10 abstentions." in said.stdout
    assert f"3 entries; the head is {head}." in said.stdout
    assert "locked" not in said.stdout
    facts = json.loads(mapl("ledger", "show", "run", "--json").stdout)
    assert facts["stages"]["labels"]["answered"] == 2
    assert (facts["head"], facts["locked"], facts["plan"], facts["keys"]) == (head, False, "f" * 64, 0)
    for one in (said.stdout, json.dumps(facts), mapl("ledger", "export", "run").stdout):
        assert str(SECRET)[:5] not in one


def test_verify_sees_a_lost_head(mapl: Callable[..., Any], head: str) -> None:
    assert "is sound" in mapl("ledger", "verify", "run", "--head", head).stdout
    assert json.loads(mapl("ledger", "verify", "run", "--json").stdout) == {
        "sound": True,
        "entries": 3,
        "head": head,
    }
    lost = mapl("ledger", "verify", "run", "--head", "0" * 64)
    assert (lost.code, lost.stdout) == (2, "")
    assert "rolled back" in lost.stderr


def test_the_export_is_the_public_chain(mapl: Callable[..., Any], head: str) -> None:
    lines = mapl("ledger", "export", "run").stdout.splitlines()
    assert check_export(map(json.loads, lines)) == head
    assert check_export(json.loads(mapl("ledger", "export", "run", "--json").stdout)["entries"]) == head
    assert mapl("ledger", "export", "run", "--out", "chain.jsonl").code == 0
    assert Path("chain.jsonl").read_text().splitlines() == lines
    again = mapl("ledger", "export", "run", "--out", "chain.jsonl")
    assert (again.code, "choose a new file" in again.stderr) == (2, True)


def test_a_backup_is_restored_with_the_newest_head(mapl: Callable[..., Any], head: str) -> None:
    assert "is a locked copy" in mapl("ledger", "backup", "run", "copy.sqlite").stdout
    assert mapl("ledger", "backup", "run", "copy.sqlite").code == 2
    shutil.copytree("run", "restored")
    shutil.move("copy.sqlite", "restored/private/ledger.sqlite")
    assert "The ledger is locked" in mapl("ledger", "show", "restored").stdout
    wrong = mapl("ledger", "unlock", "restored", "--head", "1" * 64)
    assert (wrong.code, "rolled back" in wrong.stderr) == (2, True)
    assert json.loads(mapl("ledger", "show", "restored", "--json").stdout)["locked"]
    assert "is unlocked" in mapl("ledger", "unlock", "restored", "--head", head).stdout
    assert not json.loads(mapl("ledger", "show", "restored", "--json").stdout)["locked"]
    facts = json.loads(mapl("ledger", "backup", "restored", "again.sqlite", "--json").stdout)
    assert facts == {"file": "again.sqlite", "head": head, "locked": True}


def test_a_ledger_has_an_address(mapl: Callable[..., Any], head: str) -> None:
    for name in ("run/private/ledger.sqlite", "sqlite:///run/private/ledger.sqlite"):
        assert json.loads(mapl("ledger", "show", name, "--json").stdout)["head"] == head
    Path("100%41").mkdir()
    shutil.copytree("run/private", "100%41/private")
    assert json.loads(mapl("ledger", "show", "100%41", "--json").stdout)["head"] == head


@pytest.mark.parametrize("name", ["nothing", "sqlite:///nothing", "mysql://host/x", "memory:", "run/private"])
def test_where_no_ledger_is_none_is_made(mapl: Callable[..., Any], head: str, name: str) -> None:
    before = sorted(Path().rglob("*"))
    for verb in (["show"], ["verify"], ["export"], ["unlock", "--head", head]):
        said = mapl("ledger", verb[0], name, *verb[1:])
        assert (said.code, said.stdout) == (2, "")
        assert said.stderr.startswith("mapl: ")
    assert sorted(Path().rglob("*")) == before


def test_an_empty_ledger_says_so(mapl: Callable[..., Any]) -> None:
    SqliteLedger("empty").close()
    assert "no run has begun" in mapl("ledger", "show", "empty").stderr


def test_a_ledger_in_a_database(mapl: Callable[..., Any], postgres: str) -> None:
    address = f"{postgres}&schema=command"
    assert "holds no ledger" in mapl("ledger", "show", address).stderr
    ledger = open_ledger(address)
    head = fill(ledger)
    ledger.close()
    assert json.loads(mapl("ledger", "show", address, "--json").stdout)["head"] == head
    assert "pg_dump" in mapl("ledger", "backup", address, "copy").stderr
    assert mapl("ledger", "verify", address).code == 0
