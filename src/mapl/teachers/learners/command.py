"""A command line as a learner: it reads a shard and the questions from files and writes its votes to a third."""

from __future__ import annotations

import csv
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from mapl.data.reading.entries import reals
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows, column, n_rows, names
from mapl.errors import InvalidData, InvalidParameter
from mapl.teachers.learners.spelling import codes_of
from mapl.teachers.workers.isolation import limit_program, seconds_computed
from mapl.teachers.workers.lifeline import die_with_parent
from mapl.types import Labels, Silent, finite_positive

FILES = ("shard", "queries", "votes")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line such as ``Rscript fit.R {shard} {queries} {votes}``.

    `{shard}` and `{queries}` are CSV files with a header; the shard's last column is the label. The command writes
    one class name per question to `{votes}`, with or without a header. It runs without a shell, its output goes
    nowhere, and the files are removed. The variable MAPL_SEED holds a number to seed it with.

    Parameters
    ----------
    time_limit
        Seconds that the command, and what it starts, may compute; None for no limit of its own.
    """

    template: str
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            finite_positive(time_limit=self.time_limit)
        try:
            words = shlex.split(self.template)
        except ValueError:
            words = []
        lacking = [f"{{{name}}}" for name in FILES if f"{{{name}}}" not in self.template]
        if not words or lacking:
            raise InvalidParameter(
                f"The learner command is {self.template!r}"
                + (f" and lacks {' and '.join(lacking)}" if words else ", which cannot be parsed")
                + "; write it like: Rscript fit.R {shard} {queries} {votes}"
            )
        if shutil.which(words[0]) is None:
            raise InvalidParameter(
                f"The learner command starts {words[0]!r}, which is not installed or not in PATH."
            )

    @property
    def program(self) -> str:
        return Path(shlex.split(self.template)[0]).name

    def words(self, folder: Path) -> list[str]:
        """Return the words of the command with the files of one teacher in place."""
        words = shlex.split(self.template)
        for name in FILES:
            words = [word.replace(f"{{{name}}}", str(folder / f"{name}.csv")) for word in words]
        return words


@dataclass(frozen=True, slots=True)
class CommandLearner:
    """Runs a command for each shard. It is trained when the questions are known, since it answers them at once."""

    command: Command
    classes: Classes
    label: str = "label"

    own_process: ClassVar[bool] = True
    """Each teacher needs a process of its own, with which whatever the command started is ended."""

    @property
    def name(self) -> str:
        return self.command.program

    def prepare(self, questions: Rows) -> Rows:
        return questions

    def train(self, rows: Rows, labels: Labels, *, n_classes: int, seed: int) -> CommandTeacher:
        return CommandTeacher(self, rows, labels, seed)


@dataclass(frozen=True, slots=True, repr=False)
class CommandTeacher(Silent):
    """A shard that a command will learn from once it is asked. Private."""

    learner: CommandLearner
    rows: Rows
    labels: Labels
    seed: int

    def __call__(self, questions: Rows) -> NDArray[np.int64]:
        learner = self.learner
        with tempfile.TemporaryDirectory(prefix="mapl-") as created:  # mode 0700
            folder = Path(created)
            shard = _table(self.rows).append_column(
                learner.label, pa.array(np.array(learner.classes.names)[self.labels])
            )
            pa.csv.write_csv(shard, folder / "shard.csv")
            pa.csv.write_csv(_table(questions), folder / "queries.csv")
            began, limit = seconds_computed(), learner.command.time_limit
            ended = subprocess.run(
                learner.command.words(folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "MAPL_SEED": str(self.seed)},
                preexec_fn=partial(_as_program, os.getpid(), limit),
                check=False,
            )
            if limit is not None and seconds_computed() - began > limit:
                raise InvalidData(
                    f"The learner command computed for longer than its time limit, {limit:g} seconds."
                )
            if ended.returncode:
                raise InvalidData(f"The learner command ended with code {ended.returncode}; it must end with 0.")
            return _read_votes(folder / "votes.csv", learner.classes, n_rows(questions))


def _as_program(parent: int, time_limit: float | None) -> None:
    """Prepare a process for the program that it becomes."""
    die_with_parent(parent)
    limit_program(time_limit)


def _table(rows: Rows) -> Any:
    """Return rows as a table that can be written as CSV; the columns of a matrix are called x0, x1, ..."""
    if isinstance(rows, pa.Table):
        columns = dict(zip(rows.column_names, rows.columns, strict=True))
    else:
        found = names(rows) or tuple(f"x{j}" for j in range(rows.shape[1]))
        columns = {name: column(rows, name) for name in found}
    return pa.table({name: _plain(cells) for name, cells in columns.items()})


def _plain(cells: Any) -> Any:
    if pa.types.is_dictionary(cells.type):
        return cells.cast(cells.type.value_type)
    # One empty cell makes whole numbers fractional in some files, so all numbers are written as such.
    number = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
    return reals(cells) if number else cells


def _read_votes(path: Path, classes: Classes, n: int) -> NDArray[np.int64]:
    """Read the last cell of every line, after a header if there is one line more than there are questions."""
    if not path.exists():
        raise InvalidData("The learner command wrote no file {votes}.")
    with path.open(encoding="utf-8-sig", newline="") as opened:
        cells = [line[-1] for line in islice(filter(None, csv.reader(opened)), n + 2)]
    return codes_of(np.array(cells[1:] if len(cells) == n + 1 else cells, dtype=np.str_), classes, n)
