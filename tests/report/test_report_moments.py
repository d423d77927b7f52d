"""A run by moments: what its student goes by, and words that are true of sums."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from public_files import Run
from summed_files import N_FEATURES, N_ROUNDS, N_WORDS, strengths
from test_report_page import HOSTILE, Element, parse

from mapl.errors import InvalidData
from mapl.release import Classes
from mapl.release.statement.stated_sums import StatedSums
from mapl.report import Report, render
from mapl.report.plots.whiskers import whiskers
from mapl.report.strongest import MOST_CLASSES, MOST_LINES, MOST_PER_CLASS, Effect, Strongest

TWO = Classes(("no", "yes"))
NOT_TRUE_OF_SUMS = re.compile(
    r"teacher|\bvot|\bcells?\b|noisy counts\b(?! there)|abst|questions|shards", re.IGNORECASE
)


def section(report: Report, name: str = "weights") -> Element:
    return parse(render(report)).all("section", id=name)[0]


def test_how_sums_were_released_is_read_off_the_statement(
    summed_run: Run, worded_run: Run, counted_run: Run
) -> None:
    plain, worded = StatedSums.of(summed_run.statement), StatedSums.of(worded_run.statement)
    assert plain is not None
    assert worded is not None
    assert (plain.rounds, plain.features, plain.words, plain.changes) == (N_ROUNDS, N_FEATURES, 0, 1)
    assert (worded.rounds, worded.features, worded.words, worded.changes) == (N_ROUNDS, N_FEATURES, N_WORDS, 2)
    assert plain.entries == N_ROUNDS * (2 * N_FEATURES + 1)
    assert plain.noise == pytest.approx(2**40 / int(summed_run.statement["parameters"]["reaches"].split(",")[0]))
    assert plain.in_words == "4 rounds of 30 features"
    assert worded.in_words == "one round of 256 hashed words, then 4 rounds of 30 features"
    assert StatedSums.of(counted_run.statement) is None
    with pytest.raises(InvalidData, match="does not say how sums were released"):
        StatedSums.of(summed_run.statement | {"parameters": {}})


def test_the_strongest_of_two_classes_are_told_once_with_signs() -> None:
    found = Strongest.of(strengths(2).to_table(TWO), TWO)
    (listing,) = found.columns
    assert found.signed
    assert found.words == ()
    assert listing.class_name == "yes"
    assert [line.name for line in listing.lines] == [f"c{i}" for i in range(MOST_LINES)]
    assert [line.effect for line in listing.lines[:2]] == pytest.approx([-1.0, 0.5])
    assert [line.sure for line in listing.lines[:4]] == [True, True, False, True]
    assert (found.n_columns, found.n_sure) == (N_FEATURES, N_FEATURES * 2 // 3)
    assert (found.units, found.units_noise) == (9876.5, 43.2)


def test_more_classes_have_a_list_each() -> None:
    many = Classes(tuple(f"class {k}" for k in range(MOST_CLASSES + 2)))
    found = Strongest.of(strengths(len(many), words=True).to_table(many), many)
    assert [one.class_name for one in found.columns] == list(many.names[:MOST_CLASSES])
    assert all(len(one.lines) == MOST_PER_CLASS for one in (*found.columns, *found.words))
    assert len({one.reach for one in found.columns}) == 1
    for one in found.columns:
        sizes = [abs(line.effect) for line in one.lines]
        assert sizes == sorted(sizes, reverse=True)


def test_a_noise_that_is_not_told_is_not_made_up() -> None:
    """Files of earlier versions tell no noise of words, and no number of units."""
    made = replace(strengths(2, words=True), noise=np.full(2 * N_FEATURES, np.nan))
    found = Strongest.of(made.to_table(TWO).replace_schema_metadata(None), TWO)
    assert found.units is None
    assert all(line.noise is None and not line.sure for line in found.words[0].lines)
    assert found.n_sure == 0


def test_a_bar_stays_within_its_picture_and_has_its_whisker() -> None:
    for effect in (-2.0, -0.3, 0.0, 0.3, 2.0):
        drawn = parse(str(whiskers(Effect("x", effect, 0.1), 2.2, name="one"))).all("rect")
        assert len(drawn) == 5
        for box in drawn:
            x, width = (float(box.attributes[name] or "nan") for name in ("x", "width"))
            assert 0 <= x <= x + width <= 1000
    left, right = (parse(str(whiskers(Effect("x", e, None), 1.0, name="one"))).all("rect")[1] for e in (-0.5, 0.5))
    assert (left.attributes["class"], right.attributes["class"]) == ("class-2", "class-1")
    assert left.attributes["width"] == right.attributes["width"] == "246.00"


def test_the_page_tells_rounds_noise_and_number_of_units(summed_run: Run, worded_run: Run) -> None:
    shown = section(summed_run.report(), "released").text
    assert "Sums of 30 features were released in 4 rounds" in shown
    assert "244 numbers in all" in shown
    assert re.search(r"about\s+9,87[67]\s+units; noise moves this by about 43", shown)
    assert "In a first round, 256 hashed words were summed" in section(worded_run.report(), "released").text
    assert "twice as large" in section(worded_run.report(), "method").text
    assert "twice as large" not in section(summed_run.report(), "method").text


def test_the_page_shows_columns_and_words(summed_run: Run, worded_run: Run) -> None:
    plain = section(summed_run.report())
    assert len(plain.of_class("effect")) == MOST_LINES
    assert "Words" not in plain.text
    assert f"with {N_FEATURES // 3} of all {N_FEATURES} encoded columns" in plain.text
    assert "The student is a linear model" in plain.text
    taught = section(summed_run.report(settings={"student": "hgb"}))
    assert "was taught by a linear model" in taught.text
    worded = section(worded_run.report())
    assert len(worded.of_class("effect")) == 2 * 3 * MOST_PER_CLASS
    assert "w30" in worded.text
    told = " ".join(worded.text.split())
    assert "0 says that it stands in records of every class as often as all words do" in told


def test_a_kernel_beside_the_linear_model_is_told(summed_run: Run) -> None:
    plain = summed_run.report()
    blended = replace(plain, method=replace(plain.method, beside_kernel=True))
    page, before = parse(render(blended)).text, parse(render(plain)).text
    for untrue in ("The student is a linear model, and", "The model is linear.", "A linear model (the student)"):
        assert untrue in before
        assert untrue not in page
    assert "kernel" not in before
    assert page.count("kernel") >= 4  # at the head, in the list of steps, above the weights, among the limits


def test_nothing_is_said_that_is_not_true_of_sums(summed_run: Run, worded_run: Run, seeded_sums: Run) -> None:
    for run in (summed_run, worded_run, seeded_sums):
        root = parse(render(run.report(settings={"method": "moments", "student": "auto"})))
        assert NOT_TRUE_OF_SUMS.findall(root.text) == []


def test_a_run_of_votes_has_no_such_section(private_run: Run, summed_run: Run) -> None:
    report = private_run.report(weights=summed_run.weights)
    assert report.strongest is None
    assert "goes by" not in render(report)


def test_the_audit_is_that_of_sums(summed_run: Run) -> None:
    assert (
        "mapl audit --mechanism moment-sums --epsilon 1 --delta 1e-06" in section(summed_run.report(), "check").text
    )


def test_hostile_names_stay_text(summed_run: Run) -> None:
    made = strengths(2)
    table = replace(made, names=(HOSTILE, *made.names[1:])).to_table(TWO)
    assert HOSTILE in section(summed_run.report(weights=table)).text


@pytest.mark.parametrize("name", ["what", "name", "for yes", "noise"])
def test_a_table_of_something_else_is_refused(name: str, summed_run: Run) -> None:
    assert summed_run.weights is not None
    with pytest.raises(InvalidData, match=f"has no column '{name}'"):
        summed_run.report(weights=summed_run.weights.drop_columns([name]))
    if name in ("for yes", "noise"):
        place = summed_run.weights.column_names.index(name)
        letters = summed_run.weights.set_column(place, name, pa.array(["x"] * summed_run.weights.num_rows))
        with pytest.raises(InvalidData, match="holds no numbers"):
            summed_run.report(weights=letters)


def test_the_file_of_a_run_is_read_and_told_in_words_where_it_is_not(
    mapl: Callable[..., Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=700)
    table = pa.table({"x": x, "y": np.where(x > 0, "yes", "no")})
    pa.parquet.write_table(table.slice(0, 600), tmp_path / "private.parquet")
    pa.parquet.write_table(table.slice(600), tmp_path / "test.parquet")
    pa.parquet.write_table(table.slice(600).drop_columns(["y"]), tmp_path / "public.parquet")
    run = tmp_path / "run"
    given = (
        tmp_path / "private.parquet",
        "--public",
        tmp_path / "public.parquet",
        "--label",
        "y",
        "--classes",
        "no,yes",
    )
    ran = mapl("learn", *given, "--unit", "none", "--epsilon", 2, "--delta", 1e-5, "--method", "moments",
               "--test", tmp_path / "test.parquet", "--out", run)  # fmt: skip
    assert ran.code == 0, ran.stderr
    assert "AUC" in ran.stdout
    assert not NOT_TRUE_OF_SUMS.findall(ran.stdout.replace("change with", ""))
    assert not NOT_TRUE_OF_SUMS.findall((run / "public/card.md").read_text("utf-8"))
    assert "What the student goes by" in (run / "public/report.html").read_text("utf-8")
    told = pa.parquet.read_table(run / "public/weights.parquet")
    assert np.isfinite(told["noise"].to_numpy()).all()
    (run / "public/weights.parquet").write_bytes(b"PAR1 or not")
    ran = mapl("report", run)
    assert (ran.code, "weights.parquet" in ran.stderr, "is damaged" in ran.stderr) == (2, True, True)
    (run / "public/weights.parquet").unlink()
    ran = mapl("report", run)
    assert (ran.code, "weights.parquet is missing" in ran.stderr) == (2, True)
    shutil.rmtree(run)
