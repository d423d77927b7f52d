"""``mapl learn`` refuses what it cannot keep a promise for: in words, with exit code 2, before it spends."""

from __future__ import annotations

import os
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from mapl.cli import app
from mapl.data.synthetic import LABEL, UNIT

Mapl = Callable[..., Any]

CANARY = "quokka"
"""Stands in private cells only, so no message may hold it."""


def refused(ran: Any, *parts: str) -> None:
    """Check that a run ended with words that say what to do, and that no folder was begun."""
    assert (ran.code, ran.stdout) == (2, ""), ran.stderr
    message = " ".join(ran.stderr.split())
    for part in parts:
        assert part in message
    for never in ("Traceback", "fault of mapl", CANARY):
        assert never not in message
    assert not Path("run").exists()


def changed(path: Path, column: str, cell: Any, *, row: int = 7) -> pa.Table:
    """Return a table with one cell changed."""
    table = pa.parquet.read_table(path)
    cells = table[column].to_pylist()
    cells[row] = cell
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


def test_no_label_column(mapl: Mapl, clinic: Any) -> None:
    pa.parquet.write_table(pa.parquet.read_table(clinic.private).drop_columns([LABEL]), "p.parquet")
    refused(mapl(*clinic.arguments(private=Path("p.parquet"))), f"no column {LABEL!r}", "add it to the table")


def with_label(label: str, command: list[Any]) -> list[Any]:
    """Name another label in a command; one more would be a second label."""
    place = command.index("--label") + 1
    return [*command[:place], label, *command[place + 1 :]]


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("diabtes", f"Did you mean {LABEL!r}?"),
        ("DIABETES", f"Did you mean {LABEL!r}?"),
        ("sick", f"does not declare column {LABEL!r}, which may be it"),
    ],
)
def test_a_misspelled_label(mapl: Mapl, clinic: Any, label: str, hint: str, kind: str) -> None:
    table, private = pa.parquet.read_table(clinic.private), Path(f"p.{kind}")
    if kind == "csv":
        pa.csv.write_csv(table, private)
    elif kind == "arrow":
        pa.feather.write_feather(table, str(private))
    else:
        pa.parquet.write_table(table, private)
    ran = mapl(*with_label(label, clinic.arguments(private=private)))
    refused(ran, f"private rows have no column {label!r}, which is declared as the label", hint, "with --label")
    assert "Remove" not in ran.stderr


def test_several_labels_in_one_word(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*with_label(f"{LABEL},costly", clinic.arguments()))
    refused(ran, f"no column '{LABEL},costly'", "To learn several labels, name each with a --label of its own.")


def test_a_misspelled_label_where_labels_or_features_are_public(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*with_label("diabtes", clinic.arguments("--public", clinic.test)))
    refused(ran, "private rows have no column 'diabtes'", f"Did you mean {LABEL!r}?")
    command = with_label("diabtes", clinic.arguments("--label-private"))
    place = command.index("--public")
    ran = mapl(*command[:place], *command[place + 2 :])
    refused(ran, "private rows have no column 'diabtes'", f"Did you mean {LABEL!r}?")


def test_a_misspelled_unit(mapl: Mapl, clinic: Any) -> None:
    """Where public rows have no ids, only the private file can show the mistake."""
    pa.parquet.write_table(pa.parquet.read_table(clinic.public).drop_columns([UNIT]), "public.parquet")
    ran = mapl(*clinic.arguments("--unit", "patientid", "--public", "public.parquet"))
    refused(ran, "no column 'patientid', which is declared as the unit", f"Did you mean {UNIT!r}?", "with --unit")


@pytest.fixture(scope="module")
def plain(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What is said about the table as it is."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path_factory.mktemp("plain"))
        return CliRunner().invoke(app, [str(a) for a in clinic.arguments()])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("column", "cell"),
    [(LABEL, CANARY), (LABEL, None), (UNIT, None), (UNIT, "  "), ("age", CANARY), ("smoking", CANARY)],
)
def test_no_private_cell_is_refused_or_spoken_of(
    mapl: Mapl, clinic: Any, plain: Any, kind: str, column: str, cell: str | None
) -> None:
    """A refusal would tell of one person; what cannot be read is missing, or its record left out."""
    table, private = pa.parquet.read_table(clinic.private), Path(f"p.{kind}")
    texts = table.set_column(table.column_names.index(column), column, table[column].cast(pa.string()))
    pa.parquet.write_table(texts, "texts.parquet")
    table = changed(Path("texts.parquet"), column, cell)
    (pa.csv.write_csv if kind == "csv" else pa.parquet.write_table)(table, private)
    odd = mapl(*clinic.arguments(private=private))
    assert (odd.code, odd.stderr) == (plain.exit_code, plain.stderr)
    assert plain.exit_code == 0
    assert CANARY not in odd.stdout


def test_public_labels_outside_the_classes_are_refused(mapl: Mapl, clinic: Any) -> None:
    ran = mapl(*clinic.arguments("--public", clinic.test, "--classes", "yes,maybe"))
    refused(ran, "none of the 2 declared classes (yes, maybe)", "Declare every class")


def test_classes_are_never_read_off_private_rows(mapl: Mapl, clinic: Any) -> None:
    command = clinic.arguments()
    place = command.index("--classes")
    undeclared = command[:place] + command[place + 2 :]
    refused(mapl(*undeclared), "classes are not declared", "--classes no,yes")
    place = undeclared.index("--public")
    refused(mapl(*undeclared[:place], *undeclared[place + 2 :], "--label-private"), "classes are not declared")


def test_a_unit_that_is_no_column(mapl: Mapl, clinic: Any) -> None:
    refused(mapl(*clinic.arguments("--unit", "person")), "--unit")
    refused(mapl(*clinic.arguments("--unit", LABEL)), "must differ")


def test_columns_that_differ(mapl: Mapl, clinic: Any) -> None:
    private, public = pa.parquet.read_table(clinic.private), pa.parquet.read_table(clinic.public)
    pa.parquet.write_table(private.drop_columns(["bmi"]), "less.parquet")
    refused(mapl(*clinic.arguments(private=Path("less.parquet"))), "lack column 'bmi'", "same columns")
    more = private.append_column("ssn", pa.array([CANARY] * private.num_rows))
    pa.parquet.write_table(more, "more.parquet")
    refused(mapl(*clinic.arguments(private=Path("more.parquet"))), "have column 'ssn'", "Remove it")
    pa.parquet.write_table(public.drop_columns(["bmi"]), "public.parquet")
    refused(mapl(*clinic.arguments("--public", "public.parquet")), "have column 'bmi'")


def test_a_file_without_a_header(mapl: Mapl, clinic: Any) -> None:
    """The first line may be a row, so it is not quoted."""
    table = changed(clinic.private, "smoking", CANARY, row=0)
    pa.csv.write_csv(table, "p.csv", pa.csv.WriteOptions(include_header=False))
    refused(mapl(*clinic.arguments(private=Path("p.csv"))), "names of the columns")


@pytest.mark.parametrize(
    ("more", "words"),
    [(("--adjacency", "replace-one"), "Nothing was spent"), (("--rows", 800), "Nothing was read")],
)
def test_more_teachers_than_everybody_knows_of_units(mapl: Mapl, clinic: Any, more: Any, words: str) -> None:
    ran = mapl(*clinic.arguments(*more, teachers=900))
    refused(ran, "900 teachers", "Ask for fewer with --teachers", words)
    # Nobody has to choose another folder after that.
    assert mapl(*clinic.arguments(*more)).code == 0


LEARNERS = """
import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = np.arange(8.0).reshape(4, 2), np.array(["no", "yes", "no", "yes"])
fitted = LogisticRegression().fit(X, y)
scaled = make_pipeline(StandardScaler().fit(X), LogisticRegression())
regressor = LinearRegression()
number = 7
Unbuildable = type("Unbuildable", (), {"__init__": lambda self, needed: None})

def train(X, y):
    raise RuntimeError("my own words")
"""


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("fitted", ("LogisticRegression is already fitted", "clone")),
        ("scaled", ("StandardScaler is already fitted", "clone")),
        ("regressor", ("hand over a classifier",)),
        ("train", ("my own words",)),
        ("number", ("int",)),
        ("Unbuildable", ("cannot be imported", "without required arguments")),
        ("nothing", ("cannot be imported", "package.module:name")),
    ],
)
def test_learners(
    mapl: Mapl, clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, parts: tuple[str, ...]
) -> None:
    (tmp_path / f"bad_{name}.py").write_text(LEARNERS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    refused(mapl(*clinic.arguments("--learner", f"bad_{name}:{name}")), *parts)
    if name != "train":
        refused(mapl(*clinic.arguments("--student", f"bad_{name}:{name}")), *parts)


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        (("--learner", "magic"), ("magic", "logistic")),
        (("--learner", "no_such_module:thing"), ("cannot be imported",)),
        (("--learner-command", "Rscript fit.R"), ("lacks {shard}",)),
        (("--learner-command", "no-such-program {shard} {queries} {votes}"), ("not installed",)),
        (("--student", "magic"), ("magic",)),
        (("--mechanism", "magic"), ("magic", "ladder")),
        (("--epsilon", "0"), ("epsilon",)),
        (("--epsilon", "-1"), ("epsilon",)),
        (("--epsilon", "nan"), ("epsilon",)),
        (("--epsilon", "inf"), ("promises nothing",)),
        (("--epsilon", "1e9"), ("between 0.001 and 1000",)),
        (("--delta", "1"), ("delta",)),
        (("--delta", "-1e-5"), ("delta",)),
        (("--delta", "nan"), ("delta",)),
        (("--delta", "1e-30"), ("at least 1e-15",)),
        (("--teachers", "many"), ("whole number, or auto",)),
        (("--teachers", "0"), ("teachers",)),
        (("--teachers", "99999999999"), ("teachers",)),
        (("--rows", "0"), ("rows",)),
        (("--queries", "0"), ("queries",)),
        (("--classes", "yes"), ("at least two",)),
        (("--classes", "no,yes,no"), ("different names",)),
        (("--agreement", "2:1"), ("agreement",)),
        (("--error-share", "1.5"), ("error estimate",)),
        (("--max-abstentions", "0", "--mechanism", "ladder"), ("max_abstentions",)),
        (("--max-abstentions", "3", "--mechanism", "noisy-max"), ("max_abstentions",)),
        (("--jobs", "0"), ("--jobs is 0", "number of processes")),
        (("--time-limit", "0"), ("time_limit",)),
        (("--time-limit", "soon"), ("'soon'", "such as 600, or none")),
        (
            ("--learner-command", "sh -c 'while :; do :; done' {shard} {queries} {votes}", "--time-limit", "0.3"),
            ("computed for longer than its time limit", "give it more time"),
        ),
        (("--label-private",), ("give one of the two",)),
        (("--group", "shoe size"), ("no column 'shoe size'",)),
        (("--group", UNIT), (f"no column {UNIT!r}",)),
        (("--group", "region", "--group", "region"), ("once",)),
        (("--public", "nowhere.parquet"), ("There is no file nowhere.parquet",)),
        (("--public", "."), ("is a folder; give a file",)),
        (("--schema", "nowhere.json"), ("nowhere.json cannot be read",)),
        (("--test", "nowhere.parquet"), ("There is no file nowhere.parquet",)),
        (("--out", "file"), ("is a file",)),
        (("--out", "file/run"), ("is a file",)),
        (("--out", "full"), ("holds no run of mapl",)),
        (("--out", "theirs"), ("holds no run of mapl",)),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("--") else "",
)
def test_settings(mapl: Mapl, clinic: Any, more: tuple[str, ...], parts: tuple[str, ...]) -> None:
    Path("file").write_text("mine")
    Path("full").mkdir()
    Path("full/precious").touch()
    Path("theirs/private").mkdir(parents=True)
    Path("theirs/private/diary").touch()
    before = sorted(Path().rglob("*"))
    refused(mapl(*clinic.arguments(*more)), *parts)
    assert sorted(Path().rglob("*")) == before
    assert Path("theirs/private").stat().st_mode & 0o77


@pytest.mark.parametrize("option", ["strategy", "adjacency"])
def test_choices(mapl: Mapl, clinic: Any, option: str) -> None:
    ran = mapl(*clinic.arguments(f"--{option}", "magic"))
    assert ran.code == 2
    assert "magic" in ran.stderr
    assert not Path("run").exists()


def test_neither_public_rows_nor_public_features(mapl: Mapl, clinic: Any) -> None:
    command = clinic.arguments()
    place = command.index("--public")
    refused(mapl(*command[:place], *command[place + 2 :]), "--public", "--label-private")


def test_contradicting_adjacencies(mapl: Mapl, clinic: Any) -> None:
    command = clinic.arguments("--label-private", "--adjacency", "replace-one")
    place = command.index("--public")
    refused(mapl(*command[:place], *command[place + 2 :]), "leave --adjacency away")


def test_replace_one_needs_ids(mapl: Mapl, clinic: Any) -> None:
    command = clinic.arguments("--adjacency", "replace-one")
    place = command.index("--unit")
    refused(mapl(*command[:place], *command[place + 2 :]), "give it with --unit")


@pytest.mark.parametrize("name", ["private.parquet", "private.csv", "private.xlsx"])
def test_no_private_file(mapl: Mapl, clinic: Any, name: str) -> None:
    refused(mapl(*clinic.arguments(private=Path(name))), name)


def test_test_rows_are_checked_before_anything_is_spent(mapl: Mapl, clinic: Any) -> None:
    refused(mapl(*clinic.arguments("--test", clinic.public)), f"no column {LABEL!r}", "labels")
    pa.parquet.write_table(pa.parquet.read_table(clinic.test).drop_columns(["bmi"]), "test.parquet")
    refused(mapl(*clinic.arguments("--test", "test.parquet")), "lacks the column 'bmi'")
    pa.parquet.write_table(changed(clinic.test, LABEL, "maybe"), "maybe.parquet")
    refused(mapl(*clinic.arguments("--test", "maybe.parquet")), "declared classes (no, yes)")


def test_groups_that_a_report_could_not_show(mapl: Mapl, clinic: Any) -> None:
    """Found out after the release, this would cost a budget."""
    private, public = pa.parquet.read_table(clinic.private), pa.parquet.read_table(clinic.public)
    for name, table in (("p", private), ("q", public)):
        more = table.append_column("status", table["region"])
        pixels = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4 * table.num_rows)), 4)
        pa.parquet.write_table(more.append_column("scan", pixels), f"{name}.parquet")
    command = clinic.arguments("--public", "q.parquet", private=Path("p.parquet"))
    refused(mapl(*command, "--group", "status"), "two columns 'status'", "rename")
    refused(mapl(*command, "--group", "scan"), "holds images")


def test_too_little_disk(mapl: Mapl, clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**9, 10**9 - (3 << 20), 3 << 20))
    refused(mapl(*clinic.arguments()), "has 3 MiB free", "free some space")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written(mapl: Mapl, clinic: Any) -> None:
    Path("closed").mkdir(mode=0o500)
    refused(mapl(*clinic.arguments("--out", "closed/run")), "cannot be written")


LINES = [
    f"{UNIT},age,bmi,glucose,pressure,smoking,region,active,{LABEL}",
    f"{CANARY}1,50,27.5,100,120,never,north,no,yes",
    f"{CANARY}2,60,22.5,90,130,former,{CANARY},yes,no",
    f'"{CANARY}3",70,,90,130,"never",west,yes,no',
]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=3),
    put=st.sampled_from(["", ",", '"', "\n", "\x00", "é", "\ud7ff", "x", "-", "1e999", ";", "\r", "NaN"]),
    cut=st.integers(0, 200),
)
def test_broken_private_files_are_refused_without_a_quotation(
    mapl: Mapl, clinic: Any, places: list[tuple[int, int]], put: str, cut: int
) -> None:
    lines = list(LINES)
    for line, place in places:
        lines[line] = lines[line][:place] + put + lines[line][place:]
    text = "\n".join(lines).encode()
    Path("p.csv").write_bytes(text[: len(text) - cut])
    ran = mapl(*clinic.arguments("--adjacency", "replace-one", private=Path("p.csv")))
    # That there are three patients is public then, too few for thirty teachers, whatever else is wrong.
    assert ran.code == 2
    assert CANARY not in ran.stderr
    assert "fault" not in ran.stderr
    assert not Path("run").exists()
