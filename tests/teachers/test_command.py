"""Command lines as learners: files in, votes out, nothing left behind."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.units.shards import Sharded, ShardKey, Shards
from mapl.errors import InvalidParameter
from mapl.teachers import Ballot, Command, as_learner, poll

CLASSES = Classes(("no", "yes"))
N = 60
NUMBERS = np.random.default_rng(0).normal(size=(N, 2))
LABELS = (NUMBERS[:, 0] > 0).astype(np.int32)
QUESTIONS = np.random.default_rng(1).normal(size=(30, 2))

STUMP = """
import csv, os, sys
shard, queries, votes = sys.argv[1:4]
print("this goes nowhere")
sys.stderr.write("neither does this")
rows = list(csv.reader(open(shard)))
asked = list(csv.reader(open(queries)))
assert rows[0] == [*asked[0], "label"], rows[0]
assert os.stat(os.path.dirname(shard)).st_mode & 0o777 == 0o700
assert os.environ["MAPL_SEED"].isdigit()
mean = {c: [float(r[0]) for r in rows[1:] if r[-1] == c] for c in ("no", "yes")}
cut = sum(sum(v) / len(v) for v in mean.values()) / 2
with open(votes, "w") as out:
    out.write(HEADER)
    for r in asked[1:]:
        out.write(QUOTE + ("yes" if float(r[0]) > cut else "no") + QUOTE + "\\n")
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def script(folder: Path, text: str) -> str:
    path = folder / "fit here.py"
    path.write_text(text)
    return f"{sys.executable} '{path}' {{shard}} {{queries}} {{votes}}"


def stump(folder: Path, *, header: str = "", quote: str = "") -> str:
    return script(folder, f"HEADER, QUOTE = {header!r}, {quote!r}\n{STUMP}")


def asked(command: Command, rows: Any, questions: Any) -> Any:
    return as_learner(command, CLASSES).train(rows, LABELS, n_classes=2, seed=5)(questions)


@pytest.mark.parametrize(("header", "quote"), [("", ""), ("vote\n", ""), ('"x"\n', '"'), ("\n", "")])
def test_a_script_learns_and_votes(tmp_path: Path, temporary: Path, header: str, quote: str) -> None:
    found = asked(Command(stump(tmp_path, header=header, quote=quote)), NUMBERS, QUESTIONS)
    assert (found == (QUESTIONS[:, 0] > 0)).mean() > 0.8
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("kind", ["csr", "pandas", "polars", "arrow"])
def test_rows_of_every_kind_are_written(tmp_path: Path, kind: str) -> None:
    make: dict[str, Any] = {
        "csr": sp.csr_matrix,
        "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]),
        "polars": lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        "arrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
    }
    command = Command(stump(tmp_path))
    expected = asked(command, NUMBERS, QUESTIONS)
    np.testing.assert_array_equal(asked(command, make[kind](NUMBERS), make[kind](QUESTIONS)), expected)


def test_words_and_gaps_are_written_as_they_are(tmp_path: Path) -> None:
    shown = tmp_path / "shown.csv"
    words = pa.array(["Köln, Süd", None, 'say "hi"']).dictionary_encode()
    table = pa.table({"town": words, "x": [1.5, None, 3]})
    template = script(tmp_path, f"import shutil, sys; shutil.copy(sys.argv[1], {str(shown)!r}); sys.exit(1)")
    learner = as_learner(Command(template), CLASSES, draft_schema(table, label="sick"))
    with pytest.raises(ValueError, match="ended with code 1"):
        learner.train(table, LABELS[:3], n_classes=2, seed=0)(table)
    rows = pd.read_csv(shown)
    assert list(rows.columns) == ["town", "x", "sick"]
    assert rows["town"].fillna("").tolist() == ["Köln, Süd", "", 'say "hi"']
    assert rows["sick"].tolist() == [CLASSES.names[code] for code in LABELS[:3]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys; sys.exit(3)", "ended with code 3"),
        ("pass", "wrote no file"),
        ("import sys; open(sys.argv[3], 'w').write('yes\\n' * 3)", r"shape \(3,\)"),
        ("import sys; open(sys.argv[3], 'w').write('yes\\n' * 10**6)", r"shape \(32,\)"),
        ("import sys; open(sys.argv[3], 'w')", r"shape \(0,\)"),
    ],
)
def test_a_script_that_fails_says_how(tmp_path: Path, temporary: Path, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        asked(Command(script(tmp_path, text)), NUMBERS, QUESTIONS)
    assert list(temporary.iterdir()) == []


def test_votes_for_no_class_are_unknown(tmp_path: Path) -> None:
    template = script(tmp_path, "import sys; open(sys.argv[3], 'w').write('yes\\nperhaps\\n' * 15)")
    assert asked(Command(template), NUMBERS, QUESTIONS).tolist() == [1, -1] * 15


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("Rscript fit.R {shard} {votes}", r"lacks \{queries\}; write it like: Rscript fit.R"),
        ("", "cannot be parsed"),
        ("python 'open {shard} {queries} {votes}", "cannot be parsed"),
        ("no-such-program {shard} {queries} {votes}", "'no-such-program', which is not installed"),
    ],
)
def test_templates_are_checked(template: str, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Command(template)


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    marker = tmp_path / "touched"
    template = f"{stump(tmp_path)} ; touch {marker} $HOME {{other}}"
    assert Command(template).words(Path("/f"))[-5:] == [";", "touch", str(marker), "$HOME", "{other}"]
    asked(Command(template), NUMBERS, QUESTIONS)
    assert not marker.exists()


def sharded(n_teachers: int) -> Sharded:
    ids = [str(i).encode() for i in range(N)]
    return Sharded(PrivateRows(NUMBERS), LABELS, ids, Shards(ShardKey(bytes(32)), n_teachers))


def test_commands_are_polled_like_other_learners(
    tmp_path: Path, temporary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    learner = as_learner(Command(stump(tmp_path)), CLASSES)
    ballot = poll(learner, sharded(3), QUESTIONS, n_classes=2, ballot=Ballot(30, 2, 3), n_jobs=2)
    winners = ballot.tallies().values
    assert (winners == (QUESTIONS[:, 0] > 0)).mean() > 0.7
    assert capfd.readouterr() == ("", "")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("whose", ["its own", "that of the poll"])
def test_a_command_that_spins_is_ended_with_all_it_started(tmp_path: Path, temporary: Path, whose: str) -> None:
    note = tmp_path / "pids"
    text = (
        "import os, subprocess, sys\n"
        "more = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        f"open({str(note)!r}, 'a').write(f'{{os.getpid()}} {{more.pid}} ')\n"
        "while len(open(sys.argv[1]).readlines()) > N_ROWS: pass\n"  # not in a rehearsal, which has a longer limit
        "open(sys.argv[3], 'w').write('yes\\n' * 30)"
    ).replace("N_ROWS", str(N // 2 + 1))
    own, job = (1.0, None) if whose == "its own" else (None, 1.0)
    learner = as_learner(Command(script(tmp_path, text), time_limit=own), CLASSES)
    ballot = poll(learner, sharded(1), QUESTIONS, n_classes=2, n_jobs=1, time_limit=job)
    assert (ballot.tallies().counts[:, 0] == 1).all()
    for pid in map(int, note.read_text().split()):
        while running(pid):
            time.sleep(0.05)
    assert list(temporary.iterdir()) == []


def test_what_a_command_starts_counts_and_waiting_does_not(tmp_path: Path, temporary: Path) -> None:
    text = (
        "import subprocess, sys, time\n"
        "open(sys.argv[3], 'w').write('yes\\n' * 30)\n"
        "code = 'import time\\nwhile time.process_time() < {}: pass'\n"
        "for _ in range(3): subprocess.run([sys.executable, '-c', code])\n"
        "time.sleep(2.5)"
    )
    for seconds, vote in ((0.1, 1), (0.9, 0)):
        learner = as_learner(Command(script(tmp_path, text.format(seconds)), time_limit=2.0), CLASSES)
        ballot = poll(learner, sharded(1), QUESTIONS, n_classes=2, n_jobs=1)
        assert (ballot.tallies().counts[:, vote] == 1).all()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_a_script_in_r(tmp_path: Path) -> None:
    path = tmp_path / "fit.R"
    path.write_text(
        "a <- commandArgs(TRUE); d <- read.csv(a[1]); q <- read.csv(a[2])\n"
        "m <- glm((label == 'yes') ~ x0 + x1, data = d, family = binomial())\n"
        "p <- ifelse(predict(m, q) > 0, 'yes', 'no'); write.csv(data.frame(vote = p), a[3], row.names = FALSE)\n"
    )
    found = asked(Command(f"Rscript {path} {{shard}} {{queries}} {{votes}}"), NUMBERS, QUESTIONS)
    assert (found == (QUESTIONS[:, 0] > 0)).mean() > 0.8
