"""The public half of a run: plan, statement, labels, ledger, student and model card, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet

from mapl.data.classes import Classes
from mapl.data.rows import Rows, column
from mapl.data.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.pipeline.folder import RunFolder
from mapl.pipeline.label import Labelled
from mapl.planning.plan import Plan, plain
from mapl.release.labels_file import labels_table
from mapl.release.write_once import write_once
from mapl.students.card import model_card
from mapl.students.student import Student
from mapl.students.student_file import save

PLAN, STATEMENT, LABELS, LEDGER, SCHEMA, SETTINGS, CARD = (
    "plan.json",
    "statement.json",
    "labels.parquet",
    "ledger.jsonl",
    "schema.json",
    "settings.json",
    "card.md",
)


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
        except FileNotFoundError as failure:
            raise InvalidParameter(
                f"{folder.path} holds no finished run: {Path(failure.filename).name} is missing. Give the folder "
                "that mapl learn wrote with --out; an unfinished run goes on with the same command."
            ) from None
        except NotADirectoryError:
            raise InvalidParameter(f"{folder.path} is a file; give the folder that mapl learn wrote.") from None
        except (ValueError, pa.ArrowInvalid):
            raise InvalidData(f"A file in {public} is damaged; restore the public half of the run.") from None

    @property
    def classes(self) -> Classes:
        return Classes(tuple(self.plan["classes"]))


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
        write_once(folder.public / name, content, same_is_fine=True)


def publish_student(folder: RunFolder, student: Student, statement: str) -> None:
    """Write the student and its model card; a student that a run wrote before it was killed stays."""
    if not folder.student.exists():
        save(student, folder.student, statement=statement)
    plan = json.loads((folder.public / PLAN).read_text(encoding="utf-8"))
    card = model_card(student, json.loads(statement), plan=plan)
    write_once(folder.public / CARD, card.encode(), same_is_fine=True)
