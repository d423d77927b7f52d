"""What tests of several packages use: the command line in an empty folder, and a small clinic as files."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from postgres import postgres as postgres
from typer.testing import CliRunner

from mapl.cli import app
from mapl.data.synthetic import LABEL, UNIT, Clinic
from mapl.teachers.workers import pool

collect_ignore_glob = ["*conftest.py", "*flower_run.py"]
"""Files of fixtures have no doctests, and several modules of one name cannot be imported to look for some; nor can
a script of Flower's where that is not installed."""


LONG = (
    "audit/test_cell_tables.py",
    "audit/test_moment_tables.py",
    "audit/test_prediction_audits.py",
    "audit/test_prediction_stump_twins.py",
    "audit/test_rehearse.py",
    "audit/test_release_law.py",
    "audit/test_stable_contract.py",
    "audit/test_twins.py",
    "cli/test_audit_command.py",
    "cli/test_audit_run.py",
    "cli/test_demo.py",
    "cli/test_learn_cells.py",
    "cli/test_learn_continue.py",
    "cli/test_learn_unfinished.py",
    "cli/test_plan_command.py",
    "cli/test_standard_input.py",
    "engines/test_clusters.py",
    "engines/test_short_memory.py",
    "estimators/test_earlier_fits.py",
    "estimators/test_mixed_containers.py",
    "estimators/test_scikit_learn_checks.py",
    "estimators/test_single_answers_checks.py",
    "estimators/test_soft_scikit_learn_checks.py",
    "faults/",
    "pipeline/test_by_active.py",
    "pipeline/test_canaries.py",
    "pipeline/test_continued.py",
    "pipeline/test_expected_answers.py",
    "pipeline/test_killed_",
    "pipeline/test_measured_curve.py",
    "pipeline/test_neighbours.py",
    "pipeline/test_public_bytes.py",
    "pipeline/test_rehearsed_plans.py",
    "pipeline/test_rehearsed_ways.py",
    "pipeline/test_selected_runs.py",
    "pipeline/test_selection.py",
    "planning/test_search.py",
    "planning/test_solve.py",
    "prediction/test_exponential_prediction.py",
    "replay/",
    "reproduce/test_rates.py",
    "service/test_openapi.py",
    "service/test_page_browser.py",
    "service/test_page_states.py",
    "service/test_put_back.py",
    "service/test_served_process.py",
    "service/test_under_stress.py",
    "students/test_canonical_archive.py",
    "students/test_cleaned.py",
    "students/test_convolution.py",
    "students/test_exports.py",
    "students/test_on_counts.py",
    "teachers/test_command.py",
    "teachers/test_engine.py",
    "teachers/test_isolation.py",
    "teachers/test_pool.py",
    "teachers/test_stillness.py",
    "test_examples.py",
    "test_faces.py",
    "test_import_path.py",
    "test_notebooks.py",
    "test_tutorial.py",
    "test_walk.py",
)
"""Tests that take long by nature, by how their path begins; `make test` leaves them out and says so."""


HERE = Path(__file__).parent


def takes_long(path: Path) -> bool:
    """Tell whether all tests of a file take long."""
    return path.is_relative_to(HERE) and path.relative_to(HERE).as_posix().startswith(LONG)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if takes_long(item.path):
            item.add_marker("long")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which no test is asked for: reading them all takes as long as many tests."""
    asked = config.getoption("markexpr")
    if collection_path.suffix != ".py" or asked not in ("long", "not long"):
        return None
    if asked == "not long":
        return True if takes_long(collection_path) else None
    some = takes_long(collection_path) or "mark.long" in collection_path.read_text("utf-8")
    return None if some else True


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make alone: modules are a million objects, and all of them stay."""
    gc.collect()
    gc.freeze()


def pytest_sessionstart() -> None:
    """Keep idle workers for as long as tests run: starting one again takes longer than most tests."""
    pool.IDLE_SECONDS = 3600


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def mapl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run ``mapl`` with some arguments in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any) -> Ran:
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@dataclass(frozen=True)
class World:
    """The files of a small made-up clinic, and the arguments with which ``mapl learn`` takes them."""

    private: Path
    public: Path
    test: Path

    def arguments(self, *more: Any, private: Path | None = None, teachers: int | str = 30) -> list[Any]:
        """Return a command that answers everything; what comes later on a command line counts."""
        return [
            *("learn", private or self.private, "--public", self.public, "--label", LABEL, "--classes", "no,yes"),
            *("--unit", UNIT, "--epsilon", 20, "--delta", 1e-5, "--teachers", teachers, "--student", "ridge"),
            *("--jobs", 1, "--out", "run", *more),
        ]


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Write 1500 private, 150 public and 300 labelled test visits, once for all tests."""
    folder = tmp_path_factory.mktemp("clinic")
    world = World(folder / "private.parquet", folder / "public.parquet", folder / "test.parquet")
    private, _ = Clinic().visits(1500)
    public, _ = Clinic().visits(150, stream=1)
    test, _ = Clinic().visits(300, stream=2)
    pyarrow.parquet.write_table(private, world.private)
    pyarrow.parquet.write_table(public.drop_columns([LABEL]), world.public)
    pyarrow.parquet.write_table(test, world.test)
    return world
