"""Options in a file: a run can be written down, the command line wins, and public files say nothing about noise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapl.cli.verbs import VERBS, command_of
from mapl.data.synthetic import LABEL, UNIT

Mapl = Callable[..., Any]

LOCAL = {"private", "public", "schema", "test", "out", "continue", "learner-command"}
LOCAL |= {"format", "jobs", "engine", "memory", "json", "help"}
"""Options of mapl learn that settings.json leaves out: names of local files, and what changes no result."""

ALIASES = {"label-private", "must-answer"}


def toml(clinic: Any, **more: Any) -> Path:
    """Write the options of the usual command down."""
    options = {
        "private": str(clinic.private),
        "public": str(clinic.public),
        "label": LABEL,
        "classes": ["no", "yes"],
        "unit": UNIT,
        "epsilon": 20,
        "delta": 1e-5,
        "teachers": 30,
        "student": "ridge",
        "jobs": 1,
        "seed": 3,
        "out": "run",
        **more,
    }
    path = Path("run.toml")
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items()), "utf-8")
    return path


def statement(run: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(Path(run, "public", "statement.json").read_text("utf-8"))
    return said


def refused(ran: Any, *parts: str) -> None:
    assert ran.code == 2, ran.stderr
    for part in parts:
        assert part in " ".join(ran.stderr.replace("│", " ").split()), ran.stderr  # out of the parser's frame


def test_a_run_is_written_down_goes_out_of_its_settings_and_comes_out_the_same(mapl: Mapl, clinic: Any) -> None:
    path = toml(clinic, time_limit=100, group=["region"], queries=60, may_abstain=True)
    assert mapl("learn", path).code in (0, 3)
    # Options on the command line win over those of the file, and stand before or after it.
    won = mapl("learn", "--epsilon", 10, path, "--out", "second", "--must-answer", "--json")
    assert won.code == 0, won.stderr
    assert json.loads(won.stdout)["budget_epsilon"] == statement("second")["budget_epsilon"] == 10
    text = Path("run/public/settings.json").read_text("utf-8")
    assert str(clinic.private.parent) not in text
    assert json.loads(text)["options"]["may_abstain"] is True
    tables = ("--public", clinic.public, "--jobs", 1)
    ran = mapl("learn", "run/public/settings.json", clinic.private, *tables, "--out", "again", "--seed", 3)
    assert ran.code in (0, 3), ran.stderr
    assert "settings.json is of a run that is finished" in ran.stderr
    assert "--continue run both count in one" in ran.stderr
    own = {"run_id", "ledger_head"}
    first, again = statement("run"), statement("again")
    assert {key for key in first if first[key] != again[key]} <= own
    assert json.loads(Path("again/public/settings.json").read_text("utf-8")) == json.loads(text)
    for name in ("labels.parquet", "plan.json"):
        assert Path("run/public", name).read_bytes() == Path("again/public", name).read_bytes()


def test_settings_of_a_run_tell_all_options_but_those_that_stay_here(mapl: Mapl, clinic: Any) -> None:
    assert mapl(*clinic.arguments("--method", "cells", "--teachers", "auto")).code == 0
    told = json.loads(Path("run/public/settings.json").read_text("utf-8"))["options"]
    names = {
        name.removeprefix("--")
        for one in command_of("learn").params
        for name in ([one.name] if one.param_type_name == "argument" else one.opts)
    }
    assert {key.replace("_", "-") for key in told} - {"verb"} == names - LOCAL - ALIASES - {"seed"}
    assert told["method"] == "cells"


def test_what_decides_about_noise_is_never_read_from_the_public_half(mapl: Mapl, clinic: Any) -> None:
    """Nor who works on private rows: an edited file could send them to somebody else."""
    assert mapl(*clinic.arguments("--seed", 5)).code == 0
    path = Path("run/public/settings.json")
    settings = json.loads(path.read_text("utf-8"))
    for name, value in (("seed", 5), ("engine", "dask://127.0.0.1:8786")):
        assert name not in settings["options"]
        edited = {**settings, "options": {**settings["options"], name: value}}
        path.write_text(json.dumps(edited), "utf-8")
        ran = mapl("learn", path, clinic.private, "--public", clinic.public, "--out", "again")
        refused(ran, f"says {name}", "not read from public files")
        assert not Path("again").exists()


def test_taught_and_answered_runs_can_be_asked_for_again(mapl: Mapl, clinic: Any) -> None:
    path = toml(clinic, queries=20)
    path.write_text(path.read_text("utf-8").replace('student = "ridge"\n', ""), "utf-8")
    assert mapl("teach", path).code == 0
    files = (clinic.private, "--public", clinic.public, "--jobs", 1)
    ran = mapl("teach", "run/public/settings.json", *files, "--out", "again", "--seed", 3)
    assert ran.code == 0, ran.stderr
    assert Path("run/public/plan.json").read_bytes() == Path("again/public/plan.json").read_bytes()
    refused(mapl("learn", "run/public/settings.json", *files, "--out", "other"), "of mapl teach, not of mapl learn")
    rows = "".join(f"{i},{int(i > 30)}\n" for i in range(60))
    Path("p.csv").write_text("a,y\n" + rows)
    Path("q.csv").write_text("a\n3\n50\n")
    asked = ("--label", "y", "--classes", "0,1", "--questions", "q.csv", "--unit", "none")
    assert mapl("answer", "p.csv", *asked, "--epsilon", 5, "--seed", 1, "--out", "told").code == 0
    ran = mapl(
        "answer", "told/public/settings.json", "p.csv", "--questions", "q.csv", "--seed", 1, "--out", "twice"
    )
    assert ran.code == 0, ran.stderr
    assert Path("told/public/labels.parquet").read_bytes() == Path("twice/public/labels.parquet").read_bytes()


def test_plans_and_votes_take_files_too(mapl: Mapl) -> None:
    Path("plan.toml").write_text(
        'epsilon = 2\ndelta = 1e-5\nrows = 5000\nqueries = 100\nclasses = ["a", "b", "c"]\nagreement = 0.9\n'
        "must-answer = true\njson = true\n"
    )
    ran = mapl("plan", "plan.toml")
    assert ran.code == 0, ran.stderr
    assert len(json.loads(ran.stdout)["proposals"]) >= 1
    Path("votes.csv").write_text("a,b\n" + "90,10\n" * 20)
    Path("votes.toml").write_text(
        'votes = "votes.csv"\nepsilon = 2\ndelta = 1e-5\nseed = 1\nagreement = [[0.9, 1]]\n'
    )
    assert mapl("aggregate", "votes.toml", "--must-answer").code == 0


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("epsilonn = 3", ("'epsilonn', which is no option of mapl learn", "did you mean epsilon", "--help")),
        ("n_teachers = 3", ("'n_teachers'", "did you mean teachers")),
        ("zzz = 3", ("'zzz'", "lists them")),
        ("may_abstain = 1", ("may_abstain in run.toml is 1", "true or false")),
        ("private = 'p.csv'\nlabel = 'y'\nrows = 2.5", ("--rows", "a whole number")),
        ("rows = true", ("rows in run.toml is of type bool",)),
        ("classes = ['no', 'yes,perhaps']", ("'yes,perhaps'", "comma")),
        ("[student]\nname = 'ridge'", ("student in run.toml is of type dict", "top level")),
        ("label = ", ("no TOML file",)),
        ("unit = 'one'\nunit = 'two'", ("no TOML file",)),
    ],
)
def test_what_cannot_be_meant(mapl: Mapl, line: str, parts: tuple[str, ...]) -> None:
    Path("run.toml").write_text(line)
    refused(mapl("learn", "run.toml"), *parts)


def test_files_that_are_not_what_they_should_be(mapl: Mapl) -> None:
    refused(mapl("learn", "nowhere.toml"), "cannot be read")
    Path("settings.json").write_text('{"learner": "ridge"}')
    refused(mapl("learn", "settings.json"), "tells no options")
    Path("settings.json").write_text("[")
    refused(mapl("learn", "settings.json"), "no JSON file")
    Path("run.toml").write_bytes(b"\xff")
    refused(mapl("learn", "run.toml"), "no TOML file")
    refused(mapl("learn", "--epsilon", 1), "Missing")


def test_an_option_may_have_the_file_as_its_value(mapl: Mapl) -> None:
    Path("run.toml").write_text("label = 'y'")
    refused(mapl("learn", "--schema", "run.toml", "run.toml", "p.csv", "--epsilon", 1, "--delta", 0), "--out")


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_word_means_the_same_in_every_verb(verb: str) -> None:
    for command in getattr(command_of(verb), "commands", {verb: command_of(verb)}).values():
        names = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
        assert ("--may-abstain" in names) == ("--must-answer" in names)
        assert "--json" in names


def test_tables_are_compared_in_the_same_words_everywhere(mapl: Mapl) -> None:
    for verb in ("learn", "teach", "plan"):
        refused(mapl(verb, "--adjacency", "friends"), "'add-remove', 'replace-one', 'labels'")
