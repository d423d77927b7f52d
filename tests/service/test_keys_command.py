"""``mapl keys``: keys that end, are rotated and leave a log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from taught import mapl as done
from taught import teach

from mapl.errors import InvalidParameter
from mapl.service.access.key_life import end_in_words, end_of_key

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return teach(tmp_path_factory.mktemp("keys"), rows=600, teachers=20, queries=20)


def told(*words: Any) -> Any:
    return json.loads(done("keys", *words, "--json"))


def test_a_key_that_ends_is_listed_with_its_end(run: Path) -> None:
    made = told("create", run, "--name", "Clinic A", "--expires", "2099-12-31")
    assert made["expires"] == 4_102_444_800
    assert "2100-01-01" in done("keys", "list", run)
    (log,) = [one for one in told("log", run)["changes"] if one["key"] == made["id"]]
    assert (log["did"], log["name"]) == ("added", "Clinic A")
    assert log["by"].endswith("command line")
    assert log["at"] > NOW - 1e8
    assert json.loads(done("ledger", "verify", run, "--json"))["sound"]


def test_rotating_a_key_keeps_what_it_may_and_ends_the_old_one(run: Path) -> None:
    old = told("create", run, "--name", "Clinic B", "--scope", "ask,read", "--most", 7)
    new = told("rotate", run, old["id"], "--expires", "90d")
    assert (new["name"], new["scopes"], new["most"], new["replaced"]) == ("Clinic B", ["ask", "read"], 7, old["id"])
    assert new["key"] != old["key"]
    listed = {one["id"]: one for one in told("list", run)["keys"]}
    assert (listed[old["id"]]["revoked"], listed[new["id"]]["revoked"]) == (True, False)
    assert [one["did"] for one in told("log", run)["changes"] if one["key"] in (old["id"], new["id"])] == [
        "added",
        "added",
        "revoked",
    ]


def test_an_overlap_lets_the_old_key_end_later(run: Path) -> None:
    old = told("create", run, "--name", "Clinic C")
    told("rotate", run, old["id"], "--overlap", "12h")
    (listed,) = [one for one in told("list", run)["keys"] if one["id"] == old["id"]]
    assert not listed["revoked"]
    assert listed["expires"] is not None
    assert "ends" in done("keys", "log", run)


def test_a_rotated_key_ends_no_later_than_the_old_one_would_have_unless_asked(run: Path) -> None:
    """It never ended before."""
    old = told("create", run, "--name", "Guest", "--expires", "2099-12-31")
    new = told("rotate", run, old["id"])
    assert new["expires"] == old["expires"]
    assert told("rotate", run, new["id"], "--expires", "2100-12-31")["expires"] > old["expires"]


def test_what_cannot_be_rotated_is_refused(run: Path, mapl: Callable[..., Any]) -> None:
    capped = told("create", run, "--name", "Clinic D", "--most", 3)
    for words, why in (
        (("rotate", run, capped["id"], "--overlap", "1d"), "two keys would exceed"),
        (("rotate", run, "nobody"), "no valid key nobody"),
        (("create", run, "--name", "E", "--expires", "soon"), "tells no time; write 90d"),
        (("create", run, "--name", "E", "--expires", "2001-01-01"), "has passed"),
    ):
        refused = mapl("keys", *words)
        assert refused.code == 2
        assert why in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("90d", NOW + 90 * 86400),
        ("12h", NOW + 12 * 3600),
        ("2027-01-31", 1_801_440_000),
        ("2027-01-31T12:00+01:00", 1_801_393_200),
        ("2027-01-31T12:00", 1_801_396_800),
    ],
)
def test_an_end_is_a_while_a_day_or_a_time(text: str, end: float) -> None:
    assert end_of_key(text, NOW) == end


@pytest.mark.parametrize("text", ["", "0d", "d", "12", "-1d", "2027-13-01", "1w", "9" * 20 + "d"])
def test_what_tells_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"tells no time; write 90d or 12h"):
        end_of_key(text, NOW)


def test_an_end_can_be_told_again() -> None:
    """A key that ends after the last time there is was made, and the lists of keys failed for good."""
    assert end_in_words(end_of_key("9999-12-31T23:59:59", NOW)) == "9999-12-31 23:59 UTC"
    with pytest.raises(InvalidParameter, match="beyond the year 9999"):
        end_of_key("9999-12-31T23:59-23:59", NOW)
