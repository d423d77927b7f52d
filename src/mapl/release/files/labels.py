"""Label files: the truth that a user brings along, and the labels that a run releases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from mapl.data.tables.classes import UNKNOWN, Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import spell
from mapl.release.files.votes import read_codes
from mapl.release.files.write_once import writable_above, write_once
from mapl.release.loop import Released
from mapl.release.statement.plain_words import NOT_PRIVATE
from mapl.release.statement.statement import Statement
from mapl.types import ABSTAIN, Labels

STATUSES = ("answered", "fallback", "abstained", "not asked")


def read_truth(path: Path, classes: Classes, n_questions: int) -> Labels:
    """Read one known label per question, to tell how many released labels are right."""
    blocks = list(read_codes(path, classes))
    if any(block.shape[1] != 1 for block in blocks):
        raise InvalidData(f"The truth file {path} has several columns; expected one label per question.")
    truth = np.concatenate(blocks or [np.empty((0, 1), dtype=np.int64)])[:, 0]
    if len(truth) != n_questions:
        raise InvalidData(
            f"The truth file {path} has {len(truth)} labels and the votes have {n_questions} questions; there must "
            "be one label per question, in the same order."
        )
    if (truth == UNKNOWN).any():
        raise InvalidData(
            f"The truth file {path} holds labels that are none of the {len(classes)} classes; use the declared "
            "names, or numbers from 0."
        )
    return truth.astype(np.int32)


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """The folder that one release is written to, once."""

    path: Path

    @property
    def statement(self) -> Path:
        return self.path / "statement.json"

    @property
    def labels(self) -> Path:
        return self.path / "labels.parquet"

    def refuse_if_used(self) -> None:
        """Refuse a folder that holds a release already, or that cannot be written, before anything is spent."""
        if self.statement.exists() or self.labels.exists():
            raise InvalidParameter(
                f"{self.path} already holds a release. Releasing the same votes again would spend the budget "
                f"again, and the budgets add up; if that is meant, choose another {spell('out')}."
            )
        writable_above(self.path)

    def write(self, statement: Statement, released: Released, classes: Classes) -> None:
        """Write the statement, then the labels: what is spent is on disk before the first label is."""
        table = labels_table(statement, released, classes)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_once(self.statement, statement.to_json().encode() + b"\n")
        except FileExistsError:
            raise InvalidParameter(
                f"{self.path} was used by another run meanwhile; nothing was released. Choose another "
                f"{spell('out')}."
            ) from None
        except OSError as failure:
            raise InvalidParameter(
                f"{self.statement} cannot be written ({failure.strerror}); nothing was released. Choose another "
                f"{spell('out')}."
            ) from None
        try:
            sink = pa.BufferOutputStream()
            pa.parquet.write_table(table, sink)
            write_once(self.labels, sink.getvalue().to_pybytes())
        except OSError as failure:
            raise InvalidParameter(
                f"{self.labels} cannot be written ({failure.strerror}). The statement was written before, so count "
                "this run's budget as spent; no label was released."
            ) from None


def labels_table(
    statement: Statement,
    released: Released,
    classes: Classes,
    *,
    asked: NDArray[np.int64] | None = None,
    n_questions: int | None = None,
) -> pa.Table:
    """Lay out one row per question: its number, its label or null, and what became of it.

    Parameters
    ----------
    asked
        The numbers of the questions in the order they were asked; without it they were asked as they are numbered.
    n_questions
        How many questions there are, where fewer were to be asked.
    """
    n, taken = released.n_questions if n_questions is None else n_questions, len(released.labels)
    where = np.arange(taken) if asked is None else asked[:taken]
    codes = np.full(n, ABSTAIN, dtype=np.int32)
    codes[where] = released.labels
    status = np.full(n, STATUSES.index("not asked"), dtype=np.int8)
    status[where] = np.where(released.labels == ABSTAIN, STATUSES.index("abstained"), STATUSES.index("answered"))
    if released.fallback is not None:
        status[where[released.fallback & (released.labels != ABSTAIN)]] = STATUSES.index("fallback")
    unlabelled = codes == ABSTAIN
    if classes.declared:
        names = pa.array(classes.names, pa.string())
        labels = names.take(pa.array(codes, pa.int32(), mask=unlabelled))
    else:
        labels = pa.array(codes, pa.int32(), mask=unlabelled)
    columns = {
        "question": pa.array(np.arange(n, dtype=np.int64)),
        "label": labels,
        "status": pa.array(STATUSES, pa.string()).take(pa.array(status)),
    }
    marks = {"mapl.private": "true" if statement.private else "false", "mapl.version": statement.mapl_version}
    if not statement.private:
        marks["mapl.warning"] = NOT_PRIVATE
    return pa.table(columns).replace_schema_metadata(marks)


def label_accuracy(released: Released, truth: Labels | None) -> float | None:
    """Return the share of released labels that are right, or None where that is not known."""
    if truth is None:
        return None
    given = released.labels != ABSTAIN
    if not given.any():
        return None
    return float((released.labels[given] == truth[: len(given)][given]).mean())
