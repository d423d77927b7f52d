"""The public half of a run: plan, statement, labels, ledger, student and model card, as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet

from mapl.data.classes import Classes
from mapl.data.rows import Rows, column
from mapl.data.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.cells import Counted
from mapl.pipeline.cells_file import cells_table
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.label import Labelled
from mapl.planning.plan import Plan, plain
from mapl.release.labels_file import labels_table
from mapl.release.write_once import write_once
from mapl.students.card import model_card
from mapl.students.student import Student
from mapl.students.student_file import dumps, load

PLAN, STATEMENT, LABELS, LEDGER, SCHEMA, SETTINGS, CARD = (
    "plan.json",
    "statement.json",
    "labels.parquet",
    "ledger.jsonl",
    "schema.json",
    "settings.json",
    "card.md",
)
CELLS = "cells.parquet"
COLUMNS = ("question", "label", "status")
"""The columns of the labels file; public groups stand beside them."""


@dataclass(frozen=True, slots=True)
class Publication:
    """What the files of a public half say, read back."""

    plan: dict[str, Any]
    statement: dict[str, Any]
    labels: pa.Table
    ledger: list[dict[str, Any]]
    settings: dict[str, Any]

    @classmethod
    def read(cls, folder: RunFolder) -> Self:
        """Read the public half of a finished run."""
        public = folder.public
        try:
            return cls(
                plan=json.loads((public / PLAN).read_text(encoding="utf-8")),
                statement=json.loads((public / STATEMENT).read_text(encoding="utf-8")),
                labels=pa.parquet.read_table(public / LABELS),
                ledger=[json.loads(line) for line in (public / LEDGER).read_text(encoding="utf-8").splitlines()],
                settings=json.loads((public / SETTINGS).read_text(encoding="utf-8")),
            )
        except FileNotFoundError:
            missing = next(
                (name for name in (PLAN, STATEMENT, LABELS, LEDGER, SETTINGS) if not (public / name).exists()), ""
            )
            raise InvalidParameter(
                f"{folder.path} holds no finished run: {missing} is missing. Give the folder that mapl learn wrote "
                "with --out; an unfinished run goes on with the same command. Teachers that mapl teach kept are "
                "reported on by their server (GET /v1/report)."
            ) from None
        except NotADirectoryError:
            raise InvalidParameter(f"{folder.path} is a file; give the folder that mapl learn wrote.") from None
        except (ValueError, pa.ArrowInvalid):
            raise InvalidData(f"A file in {public} is damaged; restore the public half of the run.") from None

    @property
    def classes(self) -> Classes:
        return Classes(tuple(self.plan["classes"]))


def refuse_unfit_groups(groups: Sequence[str], schema: Schema) -> None:
    """Refuse, before anything is spent, groups that a report could not show."""
    kinds = {column.name: column.kind for column in schema.columns}
    for group in groups:
        if group not in kinds:
            raise InvalidParameter(
                f"The public rows have no column {group!r} to group by; groups are columns that learners may use."
            )
        if kinds[group] == "image":
            raise InvalidParameter(f"Column {group!r} holds images; group by text, numbers, dates or categories.")
        if group in COLUMNS or groups.count(group) > 1:
            raise InvalidParameter(
                f"The labels would have two columns {group!r}; name each group once, and rename a public column "
                f"called {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]}."
            )


def publish_labels(
    folder: RunFolder,
    labelled: Labelled,
    plan: Plan,
    ledger: Sequence[Mapping[str, Any]],
    *,
    classes: Classes,
    schema: Schema,
    settings: Mapping[str, Any],
    questions: Rows,
    groups: Sequence[str] = (),
) -> None:
    """Write what was released. The spending is on disk already; the statement still comes before the labels."""
    labels = labels_table(
        labelled.statement, labelled.released, classes, asked=labelled.asked, n_questions=labelled.n_questions
    )
    for group in groups:
        labels = labels.append_column(group, column(questions, group))
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(labels, sink)
    chain = "".join(json.dumps(entry, sort_keys=True, ensure_ascii=False) + "\n" for entry in ledger)
    for name, content in (
        (PLAN, plan.to_json().encode() + b"\n"),
        (STATEMENT, labelled.statement.to_json().encode() + b"\n"),
        (LEDGER, chain.encode()),
        (SCHEMA, schema.to_json().encode() + b"\n"),
        (SETTINGS, json.dumps(plain(dict(settings)), indent=2, ensure_ascii=False).encode() + b"\n"),
        (LABELS, sink.getvalue().to_pybytes()),
    ):
        _publish(folder.public / name, content)


def publish_cells(folder: RunFolder, counted: Counted, classes: Classes, questions: Rows) -> None:
    """Write the noisy counts of every round, and where the cells lie on a map of the public rows."""
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(cells_table(counted, classes, questions), sink)
    _publish(folder.public / CELLS, sink.getvalue().to_pybytes())


def publish_files(folder: RunFolder, files: Mapping[str, bytes]) -> None:
    """Write further public files of a run."""
    for name, content in files.items():
        _publish(folder.public / name, content)


def publish_student(folder: RunFolder, train: Callable[[], Student], statement: str) -> Student:
    """Train, write and return the student, and write its model card; one that is there already is only read."""
    if not folder.student.exists():
        _publish(folder.student, dumps(train(), statement=statement))
    student = load(folder.student)  # what is published is what the card and the report speak of
    plan = json.loads((folder.public / PLAN).read_text(encoding="utf-8"))
    _publish(folder.public / CARD, model_card(student, json.loads(statement), plan=plan).encode())
    return student


def _publish(path: Path, content: bytes) -> None:
    """Write a public file once; by now the budget is spent and the labels are on record."""
    try:
        write_once(path, content, same_is_fine=True)
    except FileExistsError:
        raise InvalidData(
            f"{path} is not what this run wrote or would write; move it away and give the same command again. The "
            "budget is spent; going on spends nothing more."
        ) from None
    except OSError as failure:
        raise InvalidData(
            f"{path} cannot be written ({failure.strerror}). The budget is spent, and the labels are on record in "
            "the private half: make room or mend the permissions, and give the same command again. It goes on and "
            "spends nothing more."
        ) from None
