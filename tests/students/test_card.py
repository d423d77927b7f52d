"""The model card says what a reader needs, and nothing in it becomes markup by accident."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml
from released_table import public_table

from mapl.data.tables.classes import Classes
from mapl.mechanisms import Task, make
from mapl.noise import Coins, SeededCoins, SystemCoins
from mapl.release import aggregate, statement_of
from mapl.release.cell_counts import CellCounts
from mapl.release.loop import Released
from mapl.release.moment_sums import MomentSums
from mapl.release.statement.cell_promise import cells_promise
from mapl.release.statement.cell_statement import Spent, state_counts
from mapl.release.statement.moment_promise import moments_promise
from mapl.release.statement.moment_statement import state_sums
from mapl.students import STRATEGIES, Student, model_card, save, train_student
from mapl.students.moments.student import BLENDED, LINEAR
from mapl.types import Budget, State, Tallies


@pytest.fixture(scope="module")
def student() -> Student:
    public = public_table(120)
    return train_student(public.rows, public.labels, classes=public.classes, learner="logistic")


def statement(coins: Coins) -> dict[str, Any]:
    votes = Tallies.checked(np.tile([90, 10], (120, 1)))
    task = Task(Budget(1.0, 1e-5), n_teachers=100, n_classes=2, n_queries=120)
    mechanism = make("link", task)
    told = statement_of(mechanism, task, aggregate(votes, mechanism, coins), coins)
    return dict(json.loads(told.to_json()))


def counted(coins: Coins) -> dict[str, Any]:
    """State a run that counted 120 public rows' cells, of which 20 rows got no label."""
    codes = np.repeat(np.array([0, 1, -1], dtype=np.int32), [60, 40, 20])
    told = state_counts(
        (Spent("counts", CellCounts(1.0, 50, 2)),),
        Released(codes, None, State(100, 20, True), len(codes)),
        Budget(1.0, 1e-5),
        coins,
        promise=cells_promise("add-remove", "patient"),
        plan_digest="ab" * 32,
        ledger_head="cd" * 32,
    )
    return dict(json.loads(told.to_json()))


def summed(coins: Coins) -> dict[str, Any]:
    """State a run that released three rounds of sums of 40 features."""
    codes = np.repeat(np.array([0, 1], dtype=np.int32), 60)
    budget = Budget(1.0, 1e-5)
    told = state_sums(
        MomentSums.for_budget(budget, entries=(81, 81, 81)),
        "sums",
        Released(codes, None, State(120, 0, True), len(codes)),
        budget,
        coins,
        n_classes=2,
        promise=moments_promise("add-remove", "patient"),
        plan_digest="ab" * 32,
        ledger_head="cd" * 32,
    )
    return dict(json.loads(told.to_json()))


def test_the_card_of_a_student_of_sums_speaks_of_rounds_and_features(student: Student) -> None:
    card = model_card(replace(student, strategy="moments"), summed(SystemCoins()), plan={"why": "moments as asked"})
    for part in (
        "# A student of noisy sums",
        "the people whose records were added up",
        "The sums are 3 rounds of 40 features, 243 numbers in all",
        "| sums | 3 rounds of 40 features |",
        "holds for all noisy sums, the model and the labels together",
        "weights.parquet",
    ):
        assert part in card
    assert not re.search(r"teacher|vote|cells|abst|counts|questions", card, re.IGNORECASE)
    assert "A linear model of all this taught it" in card
    linear = model_card(replace(student, strategy="moments", learner=LINEAR), summed(SystemCoins()))
    assert "taught it" not in linear
    blended = model_card(replace(student, strategy="moments", learner=BLENDED), summed(SystemCoins()))
    assert "Beside the linear model stands a kernel that it taught" in blended


@pytest.mark.parametrize("learner", [LINEAR, BLENDED, "logistic"])
def test_a_card_speaks_of_public_rows_only_where_there_were_some(student: Student, learner: str) -> None:
    told, one = summed(SystemCoins()), replace(student, strategy="moments", learner=learner)
    with_public = model_card(one, told)
    told["parameters"]["first round"] = "products"
    without = model_card(one, told)
    assert "look like the public rows it was trained on" in with_public
    assert "look like what its columns were declared to be" in without
    assert "There were no public rows" in without
    for said in (told["in_plain_words"], *told["assumptions"], *told["checked"], "There were no public rows"):
        without = without.replace(said, "")
    assert re.search(r"public rows|public ones", with_public)
    assert not re.search(r"public rows|public ones", without)


def test_the_card_of_a_student_of_counts_speaks_of_cells(student: Student) -> None:
    said = counted(SystemCoins())
    card = model_card(replace(student, strategy="counts"), said, plan={"why": "50 cells as asked"})
    own_words = card.replace(said["in_plain_words"], "")
    for assumption in (*said["assumptions"], *said["checked"]):
        own_words = own_words.replace(assumption, "")
    assert not re.search(r"teacher|vote|shard", own_words)
    assert card.partition("\n---\n")[2].startswith("# A student of noisy counts\n")
    assert f"It learned from {student.n_labels} public rows in 50 cells; 20 of these rows have no label" in card
    assert "Each row was taught what the noisy counts of its cell say" in card
    assert "| cells | 50 |" in card
    assert "| delta | 0 |" in card
    assert "Where there are no public rows, nothing was learned" in card
    assert "people whose records were counted" in card
    assert "**NOT PRIVATE.**" in model_card(student, counted(SeededCoins(1)))


def test_hubs_find_the_promise_above_the_card(student: Student) -> None:
    said = statement(SystemCoins())
    said["unit"] = 'a: "b"\n---\n# <c>'
    card = model_card(student, said)
    opening, above, page = card.split("---\n", 2)
    assert (opening, page.startswith("# A student of a private vote\n")) == ("", True)
    read = yaml.safe_load(above)
    assert "<c>" not in above
    assert read["private"] is True
    assert {name: read[name] for name in ("guaranteed_epsilon", "delta", "adjacency", "unit")} == {
        name: said[name] for name in ("guaranteed_epsilon", "delta", "adjacency", "unit")
    }
    assert yaml.safe_load(model_card(student, statement(SeededCoins(1))).split("---\n")[1])["private"] is False


def test_the_headings_of_a_model_card(student: Student) -> None:
    said = statement(SystemCoins())
    card = model_card(student, said)
    headings = [line for line in card.splitlines() if line.startswith("#")]
    assert headings == [
        "# A student of a private vote",
        "## Intended use",
        "## Training data",
        "## Privacy",
        "## Evaluation",
        "## Limits",
        "## How to use it",
    ]
    assert "classes no, yes: logistic" in card
    assert "Columns: age, job, noise." in card
    assert f"It learned from {student.n_labels} labelled rows. The teachers were asked 120 questions" in card
    assert "NOT PRIVATE" not in card
    assert card.endswith("\n")


def test_the_privacy_statement_is_quoted_in_full(student: Student) -> None:
    said = statement(SystemCoins())
    card = model_card(student, said, plan={"why": "100 teachers as asked"})
    assert f"| epsilon, at most | {said['guaranteed_epsilon']:.4g} |" in card
    assert "| delta | 1e-05 |" in card
    for part in (said["in_plain_words"], said["unit"], said["adjacency"], *said["assumptions"], *said["checked"]):
        assert part in card
    assert "Why these settings: 100 teachers as asked." in card


def test_a_run_without_privacy_says_so_first(student: Student) -> None:
    card = model_card(student, statement(SeededCoins(1)))
    assert card.index("**NOT PRIVATE.**") < card.index("## Intended use")
    assert "## Privacy\n\n**None.**" in card
    assert "epsilon, at most" not in card


def test_figures_are_shown_where_there_are_any(student: Student) -> None:
    said = statement(SystemCoins())
    assert "Not told here" in model_card(student, said)
    card = model_card(student, said, evaluation={"accuracy": 0.84127, "rows": 2000})
    assert "Not told here" not in card
    assert "| accuracy | 0.8413 |" in card
    assert "| rows | 2000 |" in card


def test_warnings_halts_and_the_digest_are_told(student: Student) -> None:
    warned = replace(student, warnings=("It knows one class only.",), statement_sha256="ab" * 32)
    card = model_card(warned, {**statement(SystemCoins()), "halted": True})
    assert "- It knows one class only." in card
    assert "ran out before all questions were asked" in card
    assert f"SHA-256 `{'ab' * 32}`" in card


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_is_explained(student: Student, strategy: str) -> None:
    other = model_card(replace(student, strategy="another"), {})
    assert len(model_card(replace(student, strategy=strategy), {})) > len(other)


def test_names_never_become_markup(student: Student) -> None:
    names = ("<script>alert(1)</script>", "[x](http://example.org)", "a|b", "# head\n\n## head", "`code`", "*b*")
    rude = replace(student, classes=Classes(names), learner="<img src=x>")
    card = model_card(rude, {"unit": "a | b"}, evaluation={"<b>": 1.0})
    assert "<script" not in card
    assert "<img" not in card
    assert "<b>" not in card
    assert r"\[x\](http" in card
    assert r"a\|b" in card
    assert r"\# head \#\# head" in card
    assert len([line for line in card.splitlines() if line.startswith("#")]) == 7


def test_the_code_on_the_card_runs(student: Student, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    public = public_table(120)
    save(student, tmp_path / "student.skops")
    monkeypatch.chdir(tmp_path)
    code = model_card(student, {}).split("```python\n")[1].split("```")[0]
    exec(compile(code, "card", "exec"), {"rows": public.rows})
