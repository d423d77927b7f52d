"""`mapl reproduce` writes a page and JSON, the same bytes every time, and overwrites nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapl.report.plots.log_lines import LogLine, LogPicture, log_lines
from mapl.reproduce.claim import Demand, Evidence, PaperClaim
from mapl.reproduce.effort import ReproductionEffort


def fall(effort: ReproductionEffort) -> Evidence:
    points = tuple((float(n), 1 / n) for n in (10, 100, 1000))
    picture = LogPicture(
        "Falls <fast>", "rows", "error", (LogLine("a & b", points), LogLine("gone", ((1.0, 0.0),)))
    )
    return Evidence({"slope": -1.0, "size": effort.choose(1, 2)}, picture, ("A note.",))


CLAIM = PaperClaim("falls", "Theorem <1>", "It falls.", fall, (Demand("slope", most=-0.5),), "mapl bounds")


@pytest.fixture
def one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("papers", "carry_out"):
        monkeypatch.setattr(f"mapl.reproduce.{module}.claims_of", lambda paper: {"Group": (CLAIM,)})


@pytest.mark.usefixtures("one_claim")
def test_a_page_and_values_are_written_and_nothing_twice(mapl: Callable[..., Any], tmp_path: Path) -> None:
    first = mapl("reproduce", "btt18", "--quick", "--out", "here")
    assert first.code == 0, first.stderr
    assert "falls" in first.stdout
    assert "holds" in first.stdout
    page, values = (Path("here") / f"btt18.{kind}" for kind in ("html", "json"))
    text = page.read_text("utf-8")
    assert "Theorem &lt;1&gt;" in text
    assert "Falls &lt;fast&gt;" in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    (claim,) = json.loads(values.read_text("utf-8"))["claims"]
    assert claim["verdict"] == "holds"
    assert claim["figures"] == {"slope": -1.0, "size": 1.0}
    again = mapl("reproduce", "btt18", "--quick", "--out", "here")
    assert again.code == 2
    assert "exists already" in again.stderr
    assert mapl("reproduce", "btt18", "--quick", "--out", "there").code == 0
    assert (Path("there") / "btt18.html").read_bytes() == page.read_bytes()
    assert (Path("there") / "btt18.json").read_bytes() == values.read_bytes()
    told = mapl("reproduce", "all", "--out", "more", "--json")
    assert json.loads(told.stdout)["papers"][0] == json.loads((Path("more") / "btt18.json").read_text("utf-8"))
    assert json.loads((Path("more") / "btt18.json").read_text("utf-8"))["claims"][0]["figures"]["size"] == 2.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("btt18", "--votes", "nowhere"), "nowhere is no folder"),
        (("btt18", "--out", "taken"), "taken is no folder"),
        (("btt99",), "btt99"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(
    mapl: Callable[..., Any], arguments: tuple[str, ...], words: str
) -> None:
    Path("taken").write_text("")
    result = mapl("reproduce", *arguments)
    assert result.code == 2
    assert words in result.stderr


def test_a_picture_without_a_point_is_no_picture() -> None:
    assert log_lines(LogPicture("", "", "", (LogLine("", ((1.0, 0.0),)),)), name="x") == ""
    one = log_lines(LogPicture("", "", "", (LogLine("", ((1.0, 2.0),)),)), name="x")
    assert "<circle" in one
