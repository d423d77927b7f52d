"""The public half of a run: plan, statement, labels, ledger, student and model card, as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from mapl.data.tables.classes import Classes
from mapl.data.tables.label_values import declare_values
from mapl.data.tables.number_range import NumberRange
from mapl.data.tables.rows import Rows, column
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.counts.counting import Counted
from mapl.pipeline.runs.cells_file import cells_table
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.votes.labelling import Labelled
from mapl.planning.plan import Plan, plain
from mapl.release.files.labels import labels_table
from mapl.release.files.write_once import write_once
from mapl.release.loop import Released
from mapl.students.file.card import model_card
from mapl.students.file.student_file import dumps, load
from mapl.students.student import Student
from mapl.types import ABSTAIN

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
LABEL_VALUES = "label_values"
NUMBER, NUMBER_RANGE = "number", "number_range"
"""Where the labels file holds labels that are numbers, and the settings their range."""
COLUMNS = ("question", "label", "status", NUMBER)
"""The columns of the labels file; public groups stand beside them."""
OF_LABEL = "column"
"""Where the labels file says which label one is of, where rows have several."""


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
            if not folder.path.exists():
                raise InvalidParameter(f"There is no folder {folder.path}; check the path.") from None
            if (folder.path / STATEMENT).exists():
                raise InvalidParameter(
                    f"{folder.path} is the public half of a run; give the folder of the run, {folder.path.parent}."
                ) from None
            missing = next(
                (name for name in (PLAN, STATEMENT, LABELS, LEDGER, SETTINGS) if not (public / name).exists()), ""
            )
            raise InvalidParameter(
                f"{folder.path} holds no finished run: {missing} is missing. Give the folder that mapl learn wrote "
                f"with {spell('out')}; an unfinished run goes on with the same command. Teachers that mapl teach "
                "kept are reported on by their server (GET /v1/report)."
            ) from None
        except NotADirectoryError:
            raise InvalidParameter(f"{folder.path} is a file; give the folder that mapl learn wrote.") from None
        except (ValueError, pa.ArrowInvalid):
            raise InvalidData(f"A file in {public} is damaged; restore the public half of the run.") from None

    @property
    def classes(self) -> Classes:
        return declare_values(Classes(tuple(self.plan["classes"])), self.settings.get(LABEL_VALUES, ()))

    @property
    def number_range(self) -> NumberRange | None:
        """Where labels go from and to, if they are numbers."""
        known = self.settings.get(NUMBER_RANGE)
        return None if known is None else NumberRange(*known)


def refuse_unfit_groups(groups: Sequence[str], schema: Schema, *, several: bool = False) -> None:
    """Refuse, before anything is spent, groups that a report could not show."""
    taken = (*COLUMNS, OF_LABEL) if several else COLUMNS
    kinds = {column.name: column.kind for column in schema.columns}
    for group in groups:
        if group not in kinds:
            raise InvalidParameter(
                f"The public rows have no column {group!r} to group by; groups are columns that learners may use."
            )
        if kinds[group] == "image":
            raise InvalidParameter(f"Column {group!r} holds images; group by text, numbers, dates or categories.")
        if group in taken or groups.count(group) > 1:
            raise InvalidParameter(
                f"The labels would have two columns {group!r}; name each group once, and rename a public column "
                f"called {', '.join(taken[:-1])} or {taken[-1]}."
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
    labels = pa.concat_tables(
        _labels_with_groups(labelled, released, name, classes, questions, groups)
        for released, name in labelled.each_label(schema.labels)
    )
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


def _labels_with_groups(
    labelled: Labelled,
    released: Released,
    name: str | None,
    classes: Classes,
    questions: Rows,
    groups: Sequence[str],
) -> pa.Table:
    """Lay out what was released of one label, with its name where there are several."""
    labels = labels_table(
        labelled.statement, released, classes, asked=labelled.asked, n_questions=labelled.n_questions
    )
    if labelled.numbers is not None:
        labels = labels.append_column(NUMBER, pa.array(labelled.numbers, pa.float64()))
    if name is not None:
        labels = labels.append_column(OF_LABEL, pa.array([name] * len(labels), pa.string()))
    for group in groups:
        labels = labels.append_column(group, column(questions, group))
    return labels


def publish_cells(folder: RunFolder, counted: Counted, classes: Classes, questions: Rows) -> None:
    """Write the noisy counts of every round, and where the cells lie on a map of the public rows."""
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(cells_table(counted, classes, questions), sink)
    _publish(folder.public / CELLS, sink.getvalue().to_pybytes())


def publish_files(folder: RunFolder, files: Mapping[str, bytes]) -> None:
    """Write further public files of a run."""
    for name, content in files.items():
        _publish(folder.public / name, content)


def publish_student(folder: RunFolder, student: Student, statement: str) -> Student:
    """Write a student with its model card; what is published is what card and report speak of, and is returned."""
    _publish(folder.student, dumps(student, statement=statement))
    return publish_card(folder, statement)


def publish_card(folder: RunFolder, statement: str) -> Student:
    """Write the model card of the student that is in a folder, and return that student."""
    student = load(folder.student)
    plan = json.loads((folder.public / PLAN).read_text(encoding="utf-8"))
    _publish(folder.public / CARD, model_card(student, json.loads(statement), plan=plan).encode())
    return student


def publish_students(
    folder: RunFolder, students: tuple[Student | None, ...], statement: str
) -> tuple[Student | None, ...]:
    """Do the same for the students of several labels; a label of which nothing was released has none."""
    for number, student in enumerate(students, 1):
        if student is not None:
            _publish(folder.student_of(number), dumps(student, statement=statement))
    return _publish_cards(folder, [student is not None for student in students], statement)


def find_students(folder: RunFolder, statement: str, lesson: NDArray[Any]) -> tuple[Student | None, ...] | None:
    """Return the students of several labels that are in a folder, with their cards; None unless all of them are."""
    taught = (lesson != ABSTAIN).any(axis=0).tolist()
    numbers = [number for number, one in enumerate(taught, 1) if one]
    if not all(folder.student_of(number).exists() for number in numbers):
        return None
    return _publish_cards(folder, taught, statement)


def _publish_cards(folder: RunFolder, taught: Sequence[bool], statement: str) -> tuple[Student | None, ...]:
    plan = json.loads((folder.public / PLAN).read_text(encoding="utf-8"))
    students: list[Student | None] = [None] * len(taught)
    for number, one in enumerate(taught, 1):
        if one:
            path = folder.student_of(number)
            students[number - 1] = student = load(path)
            card = model_card(student, json.loads(statement), plan=plan, file=path.name)
            _publish(folder.public / f"card-{number}.md", card.encode())
    return tuple(students)


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
