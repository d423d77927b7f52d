"""The list of verbs: it says what the verbs say of themselves, misses none, and imports none."""

from __future__ import annotations

import subprocess
import sys
from inspect import unwrap
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest
from typer.testing import CliRunner

import mapl.cli
from mapl.cli.verbs import ROOM_OF, VERBS, command_of

NOT_VERBS = {"__init__", "service_extra", "verbs"}
HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "pandas", "skops", "torch")


def test_the_list_says_what_every_verb_says_of_itself() -> None:
    assert {verb: command_of(verb).get_short_help_str(500) for verb in VERBS} == dict(VERBS)


def test_every_file_that_holds_a_verb_is_listed() -> None:
    files = {path: path.read_text("utf-8") for path in Path(mapl.cli.__path__[0]).rglob("*.py")}
    verbs = {
        path.stem: path.parent.name
        for path, text in files.items()
        if path.stem not in NOT_VERBS and (f"\ndef {path.stem}(" in text or "\napp = typer.Typer(" in text)
    }
    assert verbs == ROOM_OF


@pytest.mark.parametrize(("typed", "found"), [("mapl exp", ["export"]), ("mapl learn --strat", ["--strategy"])])
def test_shells_complete_verbs_and_options(typed: str, found: list[str]) -> None:
    asked = {"_MAPL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    ran = CliRunner().invoke(mapl.cli.app, [], prog_name="mapl", env=asked)
    assert ran.stdout.split() == found


@pytest.mark.parametrize("verb", VERBS)
def test_terminals_break_the_lines_of_help(verb: str) -> None:
    for command in commands_in(command_of(verb)):
        assert command.help
        assert not [part for part in command.help.split("\n\n") if "\n" in part]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_stands_in_a_panel(verb: str) -> None:
    """By what it is about, not in one heap."""
    for command in commands_in(command_of(verb)):
        options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
        assert [one.name for one in options if not one.rich_help_panel] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_is_for(verb: str) -> None:
    for command in commands_in(command_of(verb)):
        assert [one.name for one in command.params if not one.help] == []


TRAINED = ("--student", Path)
"""Who the student is: a learner where it still has to learn, a file where it has (`mapl serve`)."""
WITH_AUTO = ("--teachers", int)
"""A number, or also auto where a rule knows one."""


def test_a_word_means_the_same_in_every_verb() -> None:
    """A number, words or a file, wherever an option has that name; bounds speak in their papers' letters."""
    kinds: dict[str, set[type]] = {}
    for command in (one for verb in VERBS if verb != "bounds" for one in commands_in(command_of(verb))):
        hints = get_type_hints(unwrap(command.callback))
        for one in command.params:
            kind = next((part for part in get_args(hints[one.name]) if part is not NoneType), hints[one.name])
            for name in one.opts if one.param_type_name == "option" else ():
                if (name, kind) not in (TRAINED, WITH_AUTO):
                    kinds.setdefault(name, set()).add(str if issubclass(kind, str) else kind)
    assert kinds["--rows"] == {int}
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


def commands_in(command: Any) -> list[Any]:
    """Return a command, or all commands of a group."""
    names = command.list_commands(None) if hasattr(command, "list_commands") else []
    return [command.get_command(None, name) for name in names] or [command]


def test_help_imports_no_verb_and_nothing_heavy() -> None:
    watched = [*HEAVY, *(f"mapl.cli.{room}.{verb}" for verb, room in ROOM_OF.items())]
    code = (
        "import sys; from typer.testing import CliRunner; from mapl.cli import app; "
        "shown = CliRunner().invoke(app, ['--help']); assert 'aggregate' in shown.stdout, shown.stdout; "
        f"print(sorted(name for name in {watched} if name in sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_no_verb_brings_learners_along_before_it_begins() -> None:
    """Help and refusals come before scikit-learn, which takes longer to import than they take."""
    late = ["pandas", "scipy.stats", "sklearn", "skops", "torch"]
    code = (
        f"import sys; from mapl.cli.verbs import VERBS, command_of; [command_of(verb) for verb in VERBS]; "
        f"print(sorted(name for name in {late} if name in sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_an_unknown_verb_is_refused() -> None:
    shown = subprocess.run([sys.executable, "-m", "mapl", "unknown-verb"], capture_output=True, text=True)
    assert shown.returncode == 2
    assert "unknown-verb" in shown.stderr


@pytest.mark.parametrize(
    ("typed", "told"), [("predikt", "Did you mean predict"), ("aggregates", "Did you mean aggregate")]
)
def test_a_misspelled_verb_is_told_which_was_meant(typed: str, told: str) -> None:
    ran = CliRunner().invoke(mapl.cli.app, [typed])
    assert ran.exit_code == 2
    assert told in ran.stderr
    assert repr(typed) in ran.stderr
    assert "Did you mean" not in CliRunner().invoke(mapl.cli.app, ["xyzzy"]).stderr


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("plan --delta much", "'--delta': 'much' was given. Write a number, such as 0.5 or 1e-6."),
        ("plan --rows 24k", "'--rows': '24k' was given. Write a whole number in digits alone, such as 24000."),
        ("plan", "'--delta'. Failure probability, well below one over the number of people."),
        ("learn t.csv --out run", "'--label'. The column of the labels. Missing as well: --epsilon, --delta."),
        ("predict", "'STUDENT'. A student.skops that mapl learn wrote. Missing as well: FILE."),
        ("reproduce", "'paper'. The paper, or all of them. Choose from:"),
        ("reproduce btt19", "'paper': 'btt19' is not one of 'btt18',"),
        ("schema public.csv --classes no yes", "(yes). A list has commas and no blanks, such as --classes no,yes;"),
    ],
)
def test_what_the_parser_complains_of_says_what_to_do(typed: str, told: str) -> None:
    ran = CliRunner().invoke(mapl.cli.app, typed.split(), env={"COLUMNS": "200"})
    assert ran.exit_code == 2
    assert told in " ".join(ran.stderr.replace("│", " ").split())


def test_an_option_that_a_file_gives_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("label = 'ill'\nepsilon = 1\n")
    ran = CliRunner().invoke(mapl.cli.app, ["learn", str(tmp_path / "run.toml"), "t.csv"], env={"COLUMNS": "200"})
    assert ran.exit_code == 2
    assert "'--delta'. Failure probability" in " ".join(ran.stderr.split())
    assert "Missing as well: --out." in " ".join(ran.stderr.split())


def test_a_word_in_the_place_of_a_number_is_repeated() -> None:
    ran = CliRunner().invoke(mapl.cli.app, ["plan", "--epsilon", "one"])
    assert ran.exit_code == 2
    assert "'one' was given" in " ".join(ran.stderr.split())
    assert "--epsilon" in ran.stderr
