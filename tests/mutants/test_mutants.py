"""The mutants themselves: each applies, compiles and names tests that are there. `run.py` tries them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from changes import changed_files, most_relevant
from docs_table import DOCS, table, written
from every_mutant import LISTS, MUTANTS
from mutant import REPOSITORY, SOURCE, DoesNotApply, Mutant
from only_the_mutant import STRANGER, WHERE
from run import main
from trial import package, pytest_on, trial
from whole_run import WholeRun, write_result, written_result

ROOMS = {"noise", "accounting", "mechanisms", "data", "teachers", "release", "pipeline", "prediction", "service"}
FEWEST = 45


def made_up(old: str, new: str, *killers: str) -> Mutant:
    return Mutant("made-up", "Nothing.", "errors.py", old, new, killers)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_applies_once_and_compiles(mutant: Mutant) -> None:
    text = mutant.mutated()
    compile(text, mutant.file, "exec")
    assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(mutant.path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_names_tests_that_are_there(mutant: Mutant) -> None:
    assert mutant.killers
    for killer in mutant.killers:
        file, _, test = killer.partition("::")
        assert file.startswith("tests/")
        assert "[" not in killer, "name the test, not one of its parameters"
        text = (REPOSITORY / file).read_text(encoding="utf-8")
        assert all(f"{part}(" in text or f"{part}:" in text for part in test.split("::") if part)


def test_names_are_unique_and_rooms_are_covered() -> None:
    assert [name for name, n in Counter(mutant.name for mutant in MUTANTS).items() if n > 1] == []
    assert [old for old, n in Counter((m.file, m.old, m.new) for m in MUTANTS).items() if n > 1] == []
    assert {mutant.file.partition("/")[0] for mutant in MUTANTS} >= ROOMS
    assert len(MUTANTS) >= FEWEST


def test_every_mutant_says_what_it_breaks() -> None:
    assert all(mutant.breaks.endswith(".") and "|" not in mutant.breaks for mutant in MUTANTS)


def test_the_docs_list_the_mutants() -> None:
    assert written() == table(), "write it: python tests/mutants/run.py --write-docs"


def test_the_docs_name_the_minutes_and_the_last_whole_run() -> None:
    assert re.search(r"^MINUTES \?= 4$", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "after four minutes" in DOCS.read_text(encoding="utf-8")
    form = r"The last whole run killed \d+ of \d+, at commit \w+( with changes)? of \d{4}-\d\d-\d\d\."
    assert re.fullmatch(f"({form})|No whole run is on record yet\\.", written_result())


def test_a_whole_run_is_written_down_by_its_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    docs = tmp_path / "audit.md"
    docs.write_text(DOCS.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr("whole_run.DOCS", docs)
    write_result(WholeRun(150, 149, "abc1234", "2026-01-31"))
    assert written_result() == "The last whole run killed 149 of 150, at commit abc1234 of 2026-01-31."
    assert docs.read_text(encoding="utf-8").count("mutants tried") == 2


def test_a_mutant_that_no_longer_applies_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DoesNotApply, match="stands 0 times"):
        made_up("no such text", "other text").mutated()
    with pytest.raises(DoesNotApply, match="must stand there once"):
        made_up("Error", "Mistake").mutated()
    assert main(["no-such-mutant"]) == 2
    assert "Unknown mutants: no-such-mutant" in capsys.readouterr().out


def test_a_change_touches_the_mutants_of_its_files() -> None:
    assert most_relevant(LISTS, {"README.md"}) == []
    first, *others = most_relevant(LISTS, {"src/mapl/noise/geometric.py", "tests/noise/test_coins.py"})
    assert first.file == "noise/geometric.py"
    assert {one.file for one in others} >= {"noise/coins.py"}
    assert all("tests/noise/test_coins.py" in one.test_files or one.file == "noise/geometric.py" for one in others)
    assert set(most_relevant(LISTS, {"tests/mutants/service_mutants.py"})) == {
        one for one in MUTANTS if one.file.startswith("service/")
    }


def test_an_unknown_revision_is_refused() -> None:
    inside = subprocess.run(["git", "rev-parse"], cwd=REPOSITORY, capture_output=True, check=False)
    if inside.returncode:
        pytest.skip("this is no clone")
    with pytest.raises(ValueError, match="Give a revision that is there"):
        changed_files("no-such-revision")


def test_the_mutant_is_what_is_tested(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A trial runs the mutated package, leaves the work tree alone, and knows a failure from an error."""
    folder = tmp_path_factory.mktemp("trial")
    before = (SOURCE / "errors.py").read_bytes()
    test = folder / "test_word.py"
    test.write_text(
        "from mapl.errors import MaplError\n\ndef test_word():\n    assert MaplError.__doc__ != 'odd'\n"
    )
    old = '"""Base of every error that mapl raises on purpose."""'
    killed = trial(made_up(old, "'odd'", str(test)))
    assert killed.killed, killed.words
    assert killed.first.endswith("test_word")
    assert not trial(made_up(old, "'even'", str(test))).killed
    broken = trial(made_up(old, "raise ImportError", str(test)))
    assert not broken.killed, "what cannot be imported was not noticed by a test"
    assert (SOURCE / "errors.py").read_bytes() == before


def test_another_mapl_ends_the_trial(tmp_path: Path) -> None:
    with package({}) as folder:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "only_the_mutant", "--co"],
            cwd=tmp_path,
            env={"PATH": "", "PYTHONPATH": str(REPOSITORY / "tests" / "mutants"), WHERE: str(folder)},
            capture_output=True,
            check=False,
        )
        assert ran.returncode == STRANGER
        assert pytest_on(folder, ["--version"])[0] == 0
