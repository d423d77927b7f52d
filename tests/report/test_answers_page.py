"""The page of single answers: what it says, from public files alone, and which files it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mapl.cli import app
from mapl.errors import InvalidData
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.published import Publication
from mapl.prediction.prices.offers import NAMES
from mapl.prediction.spending.one_rule import NAME as SEMI_PRIVATE
from mapl.report.pages.answers import HOW, AnswersReport, render


def answered(folder: Path, *more: Any) -> Publication:
    rows = "\n".join(f"{i % 97},{'yes' if i % 97 > 50 else 'no'}" for i in range(1500))
    (folder / "private.csv").write_text(f"age,<b>ill</b>\n{rows}\n")
    (folder / "asked.csv").write_text("age,<b>ill</b>\n3,no\n90,yes\n90,yes\n")
    given = ["answer", folder / "private.csv", "--label", "<b>ill</b>", "--classes", "no,yes", "--epsilon", 2]
    ran = CliRunner().invoke(
        app, list(map(str, [*given, "--questions", folder / "asked.csv", "--out", folder / "run", *more]))
    )
    assert ran.exit_code == 0, ran.stderr
    return Publication.read(RunFolder(folder / "run"))


def report_of(published: Publication, **changed: Any) -> AnswersReport:
    given = {
        "plan": published.plan,
        "labels": published.labels,
        "classes": published.classes,
        "settings": published.settings,
        "ledger": published.ledger,
        "statement": published.statement,
    } | changed
    return AnswersReport.of(given.pop("statement"), **given)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Publication:
    return answered(tmp_path_factory.mktemp("single"))


def test_the_page_says_what_was_promised_and_what_an_answer_costs(single: Publication) -> None:
    page = render(report_of(single))
    for words in (
        "Privacy promise of all answers",
        "Price of one answer",
        "Each of 2 different questions costs pure epsilon",
        "3, all of them answered",
        "2 of at most 2 that were planned",
        "padded-stumps for <bdi>stumps</bdi>",
        "How many private records there are.",
        single.statement["in_plain_words"][:60],
        single.statement["plan_digest"],
        single.statement["ledger_head"],
        "mapl audit --mechanism padded-stumps --epsilon 1 --delta 0 --adjacency replace-one",
        "&lt;b&gt;ill&lt;/b&gt;",
    ):
        assert words in page, words
    assert "<b>ill" not in page
    assert "teachers voted" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_every_epsilon_on_the_page_stands_with_its_terms(single: Publication) -> None:
    page = render(report_of(single))
    for part in page.split("data-guarantee")[1:]:
        assert "delta" in part[:6000]
        assert "unit" in part[:6000]
    assert page.count('<data class="epsilon"') >= 8


def test_a_release_for_all_questions_has_a_page_too(tmp_path: Path) -> None:
    published = answered(tmp_path, "--method", SEMI_PRIVATE, "--adjacency", "add-remove")
    page = render(report_of(published))
    assert "Price of the one release" in page
    assert "All answers follow from it" not in page
    assert "all answers follow from it" in page
    assert "Whether any one record was in the private table at all" in page
    assert "mapl audit --mechanism semi-private --epsilon 2 --delta 0 --adjacency add-remove" in page


def test_seeded_coins_promise_nothing(tmp_path: Path) -> None:
    page = render(report_of(answered(tmp_path, "--seed", 1)))
    assert "NOT PRIVATE" in page
    assert "Price of one answer" in page
    assert '<data class="epsilon"' not in page
    assert "mapl audit" not in page


def test_files_of_another_run_are_refused(single: Publication, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="answered: 9, and the labels file has 3"):
        report_of(single, statement={**single.statement, "answered": 9})
    other = answered(tmp_path, "--epsilon", 3)
    with pytest.raises(InvalidData, match="different runs"):
        report_of(single, plan=other.plan)
    with pytest.raises(InvalidData, match="different runs"):
        report_of(single, ledger=other.ledger)


def test_every_method_is_explained() -> None:
    assert set(HOW) == {*NAMES, SEMI_PRIVATE}


def test_nothing_private_is_published(single: Publication) -> None:
    assert set(single.settings) == {
        *("verb", "label", "classes", "model", "method", "epsilon", "delta", "adjacency", "features", "rows"),
        *("realizable", "alpha", "bound", "accuracy", "options"),
    }
    assert "private" not in json.dumps({key: value for key, value in single.settings.items() if key != "method"})
