"""Private rows are no rows: what learns from public rows refuses them, for mypy and at run time.

mypy reads this file with the source (pyproject.toml). Every ``type: ignore`` here is a refusal, and one that is not
needed is an error, so `make test` fails when a function begins to take private rows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mapl
from mapl.data.cells.partition import Cells
from mapl.data.cells.space import CellSpace
from mapl.data.drafts.draft_schema import classes_of, draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.public_encoder import PublicEncoder
from mapl.data.reading.conform import conform
from mapl.data.tables.classes import Classes
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import check_rows, take
from mapl.data.tables.schema import Schema
from mapl.data.units.id_columns import id_warning
from mapl.errors import InvalidData
from mapl.pipeline.methods.active import public_pool
from mapl.pipeline.sums.public_sample import sample_public
from mapl.students.active.pool import Pool
from mapl.students.file.student_file import check_usable
from mapl.students.student import Student, train_student

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(mapl.__file__).parent
SECRET = 7654321
PUBLIC = pa.table({"age": [float(i % 7) for i in range(40)], "town": ["Ulm", "Bonn"] * 20})
PRIVATE = PrivateRows(pa.table({"age": [float(SECRET)] * 40, "town": ["Ulm", "Bonn"] * 20}))
SCHEMA: Schema = draft_schema(PUBLIC)
SPACE = CellSpace.fit(PUBLIC, SCHEMA)
CLASSES = Classes(("no", "yes"))
ONES = np.arange(40, dtype=np.int32) % 2
STUDENT: Student = train_student(PUBLIC, ONES, classes=CLASSES, learner="ridge", schema=SCHEMA)


REFUSED: dict[str, Callable[[], object]] = {
    "a draft": lambda: draft_schema(PRIVATE),  # type: ignore[arg-type]
    "a search for classes": lambda: classes_of(PRIVATE, "town"),  # type: ignore[arg-type]
    "a search for ids": lambda: id_warning(PRIVATE, SCHEMA),  # type: ignore[arg-type]
    "an encoder": lambda: encoder_for(SCHEMA, PRIVATE).transform(PRIVATE),  # type: ignore[arg-type]
    "an encoder of images": lambda: PublicEncoder.fit_public(PRIVATE, SCHEMA),  # type: ignore[arg-type]
    "an encoder that is there": lambda: Encoder.of(SCHEMA).transform(PRIVATE),  # type: ignore[arg-type]
    "a space": lambda: CellSpace.fit(PRIVATE, SCHEMA),  # type: ignore[arg-type]
    "cells": lambda: Cells.of_public(PRIVATE, SPACE, 4),  # type: ignore[arg-type]
    "a map of moments": lambda: sample_public(PRIVATE, 0.5),  # type: ignore[arg-type]
    "a pool": lambda: Pool.of(PRIVATE, Encoder.of(SCHEMA), 2),  # type: ignore[arg-type]
    "the pool of a run": lambda: public_pool(PRIVATE, SCHEMA, None, 2),  # type: ignore[arg-type]
    "a student": lambda: train_student(PRIVATE, ONES, classes=CLASSES, schema=SCHEMA),  # type: ignore[arg-type]
    "a try of a student": lambda: check_usable(STUDENT, PRIVATE),  # type: ignore[arg-type]
    "public rows to read": lambda: conform(PRIVATE, SCHEMA, "public rows", public=True),  # type: ignore[arg-type]
    "rows of any kind": lambda: check_rows(PRIVATE, "public rows"),
    "a look at some": lambda: take(PRIVATE, np.arange(3)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_public_rows_takes_no_private_ones(what: str) -> None:
    with pytest.raises((AttributeError, TypeError, InvalidData)) as refused:
        REFUSED[what]()
    assert str(SECRET) not in str(refused.value)


def test_they_are_silent_and_keep_what_they_hold() -> None:
    some = PRIVATE.take(np.array([1, 2]))
    assert repr(PRIVATE) == f"{some}" == "PrivateRows(private)"
    assert (len(PRIVATE), len(some)) == (40, 2)
    assert some.open()["town"].to_pylist() == ["Bonn", "Ulm"]
    assert list(some.contents()) == list(PRIVATE.contents())[1:3]
    assert list(some.contents()) != list(some.contents(np.zeros(2, np.int32)))


OPENERS = {
    "cli/learning/demo.py",  # made-up patients, to compare with learning without privacy
    "cli/releasing/answer_run.py",  # single answers: a matrix of numbers for the hidden rule
    "data/moments/contributions.py",  # what each unit adds to a sum
    "data/tables/private_rows.py",  # a keyed coin of each record
    "data/units/bags.py",  # one bag
    "data/units/shards.py",  # one teacher's shard
    "estimators/single/single_answers.py",  # as the command line does
    "pipeline/choice/judges.py",  # a student's predictions, each by itself
    "pipeline/counts/counting.py",  # each record's cell
    "pipeline/counts/counting_afar.py",  # each record's cell, on a worker of a cluster
    "pipeline/counts/one_record.py",  # which of a unit's records is the latest
    "pipeline/runs/inputs.py",  # where only labels are private: the features of questions
    "pipeline/runs/owner/look.py",  # how cells were read, counted for the owner alone
    "pipeline/runs/private_input.py",  # blocks as they were read, put together
    "pipeline/runs/run.py",  # the fingerprint of a run, which stays in its private half
}
"""Who opens private rows, and for what. Nothing may be fitted on what comes out but a teacher, on its shard."""


def test_few_open_private_rows() -> None:
    files = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert {name for name, text in files.items() if ".open()" in text or ".open_blocks(" in text} == OPENERS
    assert [name for name, text in files.items() if ".rows._rows" in text] == []


def test_mypy_reads_this_file() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert told["strict"] is True
    assert Path(__file__).stem in told["modules"]
