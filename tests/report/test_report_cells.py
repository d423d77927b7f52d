"""A run that counted in cells: its map and its words, made of public files and of nothing else."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from counted_files import N_CELLS, PER_CELL, counted, table_of
from hypothesis import given, settings
from hypothesis import strategies as st
from public_files import Run
from test_report_page import HOSTILE, Element, parse
from typer.testing import CliRunner

from mapl.cli import app
from mapl.data.synthetic import LABEL, UNIT
from mapl.errors import InvalidData
from mapl.noise import SystemCoins
from mapl.release import Classes
from mapl.release.cell_counts import CellCounts
from mapl.report import Report, render
from mapl.report.cell_map import MOST_BINS, MOST_MARKS, CellMap, Far, find_leaders
from mapl.report.counting import Counting
from mapl.report.plots.cell_map import N_COLOURS, OTHER, Scale, class_styles, legend_of
from mapl.students.taught_by_counts import Round, TaughtByCounts
from mapl.types import ABSTAIN

CLASSES = Classes(("no", "yes"))
COUNTS = st.lists(st.lists(st.integers(-9, 30), min_size=3, max_size=3), min_size=1, max_size=40)


def found(counts: list[list[int]], *, names: tuple[str, ...] = ("no", "yes"), away: int = 0) -> CellMap:
    """Read a map off counts of one's own; the last `away` cells have no public rows."""
    table = np.array(counts, dtype=np.int64)
    n_placed = len(table) - away
    places = np.column_stack([np.arange(n_placed), -np.arange(n_placed)]).astype(float)
    mechanism = CellCounts(1.0, len(table), len(names))
    counting = Counting(len(table), len(names), 1, "points", 1, 1.0, mechanism.deviation)
    return CellMap.of(table_of(1, table, Classes(names), n_placed, places), Classes(names), counting)


def section(report: Report, name: str = "cells") -> Element:
    return parse(render(report)).all("section", id=name)[0]


@given(COUNTS)
def test_a_cell_is_led_by_the_class_that_its_public_rows_get(counts: list[list[int]]) -> None:
    table = np.array(counts, dtype=np.int64)
    rows = TaughtByCounts(np.zeros((len(table), 1)), (Round(np.arange(len(table)), table, 1.0),))
    assert np.where(rows.labels == ABSTAIN, -1, rows.labels).tolist() == find_leaders(table).tolist()


def test_a_map_by_hand() -> None:
    cells = found([[5, 1], [-3, -1], [2, 2], [0, 7], [0, 0], [4, 3]], away=1)
    assert [mark.leader for mark in cells.marks] == [0, None, None, 1, None]
    assert [mark.total for mark in cells.marks] == [6, -4, 4, 7, 0]
    assert (cells.cells, cells.no_leader, cells.records) == (5, 3, 20)
    assert [(one.name, one.leads, one.records) for one in cells.per_class] == [("no", 1, 8), ("yes", 1, 12)]
    assert [one.share for one in cells.per_class] == [0.4, 0.6]
    assert cells.far == Far(7, 7 / 20, 1)
    assert cells.quartiles == (0, 4, 6)
    assert not cells.sampled


def test_a_class_below_zero_has_no_share() -> None:
    no, yes = found([[5, -2], [3, 1]]).per_class
    assert (no.records, no.share, yes.records, yes.share) == (8, 1.0, -1, 0.0)
    nothing = found([[-1, -2]], away=1)
    assert [one.share for one in nothing.per_class] == [0.0, 0.0]
    assert nothing.far == Far(-3, 0.0, 1)


@settings(deadline=None)
@given(st.lists(st.integers(-40, 400), min_size=1, max_size=200))
def test_every_cell_is_in_one_bin(totals: list[int]) -> None:
    cells = found([[total, 0] for total in totals])
    assert sum(one.cells for one in cells.bins) == len(totals)
    assert len(cells.bins) <= MOST_BINS + 2
    for one in cells.bins:
        last = max(totals) if one.last is None else one.last
        assert one.cells == sum(one.first <= total <= last for total in totals)
    assert all(one.last is not None for one in cells.bins[:-1])
    assert any(one.first == 0 for one in cells.bins)  # where the noise is marked, wherever the totals lie


def test_few_cells_are_all_drawn_and_many_are_sampled_in_a_fixed_way(counted_run: Run) -> None:
    drawn = section(counted_run.report()).of_class("map")[0].all("circle")
    assert len(drawn) == N_CELLS
    many = counted(SystemCoins(), n_cells=4 * MOST_MARKS // 3)
    report = many.report()
    assert report.cell_map == many.report().cell_map
    shown = section(report)
    assert len(shown.of_class("map")[0].all("circle")) == MOST_MARKS
    assert "3,000 of 4,000 cells are drawn" in shown.text
    assert "are drawn" not in section(counted_run.report()).text
    places = {(mark.x, mark.y) for mark in report.cell_map.marks} if report.cell_map else set()
    assert len(places) == MOST_MARKS


def test_marks_stay_on_the_map_and_grow_with_their_records(counted_run: Run) -> None:
    picture = section(counted_run.report()).of_class("map")[0]
    _, _, width, height = map(float, (picture.attributes["viewbox"] or "").split())
    for mark in picture.all("circle"):
        x, y, r = (float(mark.attributes[name] or "nan") for name in ("cx", "cy", "r"))
        assert r <= x <= width - r
        assert r <= y <= height - r
    cells = counted_run.report().cell_map
    assert cells is not None
    scale = Scale.of(cells.marks)
    assert scale.radius(-5) == scale.radius(0) < scale.radius(scale.full // 2) < scale.radius(scale.full)
    assert scale.radius(scale.full) == scale.radius(10 * scale.full)
    assert Scale.of(()).place(cells.marks[0]) == (width / 2, height / 2)


def test_the_table_says_what_the_map_shows(counted_run: Run) -> None:
    cells = counted_run.report().cell_map
    shown = section(counted_run.report())
    assert cells is not None
    assert cells.far is not None
    rows = [[cell.text for cell in row.all("th") + row.all("td")] for row in shown.all("table")[0].all("tr")[1:]]
    for row, one in zip(rows, cells.per_class, strict=False):
        assert row[:3] == [one.name, str(one.leads), str(one.records)]
    assert rows[-2][:2] == ["none leads", str(cells.no_leader)]
    assert rows[-1][:3] == ["all", str(N_CELLS), str(cells.records)]
    plural = "s" * (cells.far.records != 1)
    assert f"Far from all public rows: {cells.far.records} noisy record{plural}" in shown.text
    drawn = shown.of_class("map")[0]
    for code, style in enumerate(("class-1", "class-2")):
        assert len(drawn.of_class(style)) == cells.per_class[code].leads
    assert len(drawn.of_class("class-none")) == cells.no_leader
    description = drawn.all("desc")[0].children[0]
    assert isinstance(description, str)
    assert f"{cells.no_leader} have no leader" in description


def test_more_classes_than_colours_share_one() -> None:
    names = tuple(f"kind {number}" for number in range(N_COLOURS + 3))
    # Class number n leads n + 1 cells, so that the first three lead fewest.
    counts = [
        [9 * (code == one) for one in range(len(names))] for code in range(len(names)) for _ in range(code + 1)
    ]
    cells = found(counts, names=names)
    styles = class_styles(cells.per_class)
    assert styles[:3] == (OTHER,) * 3
    assert styles[3:] == tuple(f"class-{number}" for number in range(1, N_COLOURS + 1))
    assert legend_of(cells)[-1] == (OTHER, None)
    assert [name for _, name in legend_of(cells)[:-1]] == [*names[3:]]


def test_the_words_are_those_of_counting(counted_run: Run, recounted_run: Run) -> None:
    for run in (counted_run, recounted_run):
        root = parse(render(run.report(settings={"student": "auto"})))
        for quoted in root.all("blockquote"):
            quoted.children.clear()
        for assumptions in root.all("section", id="assumptions"):  # the statement's own words
            assumptions.children.clear()
        assert not re.search(r"teacher|vote|shard|majority", root.text)
        method, limits = root.all("section", id="method")[0].text, root.all("section", id="limits")[0].text
        assert "One epsilon pays for all cells" in method
        assert "Where there are no public rows, nothing is learned" in limits
        assert "no noisy count is above zero, or two classes share the first place" in root.text
        assert "delta grows" not in limits  # nothing grows from zero
    assert "a unit more or less changes one count of one cell, by one" in render(counted_run.report())
    assert "leaves one count and enters another" in render(recounted_run.report())


def test_a_second_round_is_told_and_drawn(counted_run: Run, recounted_run: Run) -> None:
    told = section(recounted_run.report()).text
    assert "as drawn for round 2" in told
    assert "counted in round 1" in told  # leaves have no cell for what is far away
    assert "its epsilon adds to that of the first" in render(recounted_run.report())
    assert "round 2" not in section(counted_run.report()).text


def test_the_noise_is_marked_where_it_lies(counted_run: Run) -> None:
    report = counted_run.report()
    counting = report.method.counting
    assert counting is not None
    made = CellCounts(1.0, N_CELLS + 1, 2)
    assert counting.deviation == made.deviation
    assert counting.deviation_of_a_cell == pytest.approx(made.deviation * 2**0.5)
    plot = section(report).of_class("plot")[0]
    assert f"noise alone: ±{counting.deviation_of_a_cell:.3g}" in plot.text
    bracket = plot.of_class("reach")[0].attributes["d"] or ""
    begin, end = (float(found) for found in re.findall(r"M([\d.]+) \d+ V", bracket))
    assert begin < end
    assert len(plot.of_class("answered")) == len(report.cell_map.bins if report.cell_map else ())


def test_parameters_of_the_mechanism_are_listed(recounted_run: Run) -> None:
    method = section(recounted_run.report(), "method")
    table = next(one for one in method.all("table") if "Parameters" in one.all("caption")[0].text)
    shown = {row.all("th")[0].text: row.all("td")[0].text for row in table.all("tr")[1:]}
    assert shown["cells"] == str(N_CELLS)
    assert shown["counts released, cells times classes"] == str(2 * N_CELLS)
    assert shown["epsilon of all counts together"] == "0.5"
    assert shown["sensitivity: how much one unit changes all counts together"] == "2"
    assert shown["noise of one count, standard deviation"] == f"{CellCounts(0.5, N_CELLS, 2, 2).deviation:.3g}"


def test_the_printed_audit_runs(counted_run: Run, recounted_run: Run) -> None:
    for run, adjacency in ((counted_run, "add-remove"), (recounted_run, "replace-one")):
        command = shlex.split(section(run.report(), "check").all("pre")[-1].text)
        assert command[:4] == ["mapl", "audit", "--mechanism", "cell-counts"]
        assert (adjacency in command) == (adjacency != "add-remove")
        audited = CliRunner().invoke(app, command[1:])
        assert audited.exit_code == 0, audited.output
        assert "within the claim" in audited.stdout


def test_counts_of_another_run_are_refused(counted_run: Run, recounted_run: Run) -> None:
    other = counted(SystemCoins())
    with pytest.raises(InvalidData, match=r"not those that the ledger recorded; give the public files of one"):
        counted_run.report(cells=other.cells)
    with pytest.raises(InvalidData, match=r"1 rounds and 61 cells in the last one, and the table of cells has 2"):
        counted_run.report(cells=recounted_run.cells)
    with pytest.raises(InvalidData, match=r"no column 'count yes'; give the cells.parquet that mapl wrote"):
        counted_run.report(cells=counted_run.cells.drop_columns("count yes") if counted_run.cells else None)
    with pytest.raises(InvalidData, match=r"The table of cells is empty"):
        counted_run.report(cells=counted_run.cells.slice(0, 0) if counted_run.cells else None)
    assert "those whose digest is in the ledger" in section(counted_run.report(), "check").text


def test_a_page_without_the_table_of_cells_has_no_map(counted_run: Run) -> None:
    page = render(counted_run.report(cells=None))
    assert parse(page).all("section", id="cells") == []
    assert "One epsilon pays for all cells" in page


def test_hostile_class_names_stay_text_on_the_map() -> None:
    names = (f"a{HOSTILE}", f"b{HOSTILE}", 'c"><circle onload=x>')
    page = render(counted(SystemCoins(), names=names).report())
    root = parse(page)
    assert root.all("script") == []
    assert "<script" not in page
    assert "onload=x>" not in page
    cells = root.all("section", id="cells")[0]
    assert len(cells.of_class("map")[0].all("circle")) == N_CELLS
    legend = cells.all("ul")[0].text
    description = cells.of_class("map")[0].all("desc")[0].children[0]
    assert isinstance(description, str)
    for name in names:
        assert name in legend
        assert name in cells.all("table")[0].text
    assert f"a{HOSTILE} leads in" in description or f"b{HOSTILE} leads in" in description


MARKS = ("CANARY-UNIT-77", "86.3719", "CANARY-REGION")
Mapl = Callable[..., Any]


@pytest.fixture
def finished(mapl: Mapl, clinic: Any) -> Path:
    """Count a clinic with marks in its private table: an id, a number and a category that nobody else has."""
    private = pa.parquet.read_table(clinic.private)
    marks = {UNIT: MARKS[0], "bmi": float(MARKS[1]), "region": MARKS[2]}
    for name, mark in marks.items():
        values = private[name].to_pylist()
        private = private.set_column(private.column_names.index(name), name, pa.array([mark, *values[1:]]))
    pa.parquet.write_table(private, "private.parquet")
    ran = mapl(
        *("learn", "private.parquet", "--public", clinic.public, "--label", LABEL, "--classes", "no,yes"),
        *("--unit", UNIT, "--epsilon", 2, "--delta", 1e-5, "--rows", 600, "--method", "cells", "--out", "run"),
        *("--student", "ridge"),
    )
    assert ran.code == 0, ran.stderr
    return Path("run")


def test_nothing_private_is_in_the_page_and_the_card(mapl: Mapl, finished: Path) -> None:
    public = finished / "public"
    page, card = (public / "report.html").read_text("utf-8"), (public / "card.md").read_text("utf-8")
    for mark in MARKS:
        assert mark not in page
        assert mark not in card
    assert "# A student of noisy counts" in card
    shutil.rmtree(finished / "private")  # a reader has the public half only
    ran = mapl("report", finished)
    assert (ran.code, ran.stderr) == (0, "")
    assert (public / "report.html").read_text("utf-8") == page
    table = pa.parquet.read_table(public / "cells.parquet")
    placed = table.num_rows - table["x"].null_count
    assert len(parse(page).of_class("map")[0].all("circle")) == placed
    # A table that was cut off, damaged or lost is told, and no page is written.
    pa.parquet.write_table(table.slice(1), public / "cells.parquet")
    cut = mapl("report", finished, "--out", "page.html")
    assert cut.code == 2
    assert "give the public files of one run" in " ".join(cut.stderr.split())
    (public / "cells.parquet").write_bytes(b"no table")
    damaged = mapl("report", finished, "--out", "page.html")
    assert damaged.code == 2
    assert "cells.parquet in run/public is damaged" in " ".join(damaged.stderr.split())
    (public / "cells.parquet").unlink()
    missing = mapl("report", finished, "--out", "page.html")
    assert missing.code == 2
    assert "cells.parquet is missing" in " ".join(missing.stderr.split())
    assert not Path("page.html").exists()


def test_every_public_row_is_labelled_by_its_cell(counted_run: Run) -> None:
    """Where nothing else decides, as many rows abstain as lie in cells without a leader."""
    cells = counted_run.report().cell_map
    assert cells is not None
    assert counted_run.statement["abstained"] == PER_CELL * cells.no_leader
