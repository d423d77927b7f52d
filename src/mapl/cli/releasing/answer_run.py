"""The run of ``mapl answer``: from a private table and a file of questions to answers and their statement."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from mapl.cli.console import warn
from mapl.cli.dialect.spelling import WITHOUT_SCHEMA
from mapl.cli.options.answer_columns import columns_of, refuse_only_labels
from mapl.data.reading.entries import numbers
from mapl.data.sources.source import Address
from mapl.data.tables.classes import Classes
from mapl.data.tables.label_values import write_label_values
from mapl.data.tables.rows import Rows, column
from mapl.data.tables.table import read_table
from mapl.data.units.id_columns import NO_UNIT, ask_about
from mapl.errors import InvalidParameter
from mapl.noise import Coins
from mapl.parameters import speaking
from mapl.pipeline.case import Declared
from mapl.pipeline.runs.fingerprint import fingerprint
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.inputs import declare, take_public_rows
from mapl.pipeline.runs.options import OPTIONS
from mapl.pipeline.runs.owner.check_file import hint_of_words, write_owner_check
from mapl.pipeline.runs.private_input import read_private
from mapl.pipeline.runs.published import LABEL_VALUES, LABELS, LEDGER, PLAN, SETTINGS, STATEMENT
from mapl.planning.plan import Plan
from mapl.prediction.class_names import hypotheses_of
from mapl.prediction.hypotheses.protocol import Points
from mapl.prediction.prices.offers import Wanted, best_offer
from mapl.prediction.spending.many_answers import AnswerBook, Answering, plan_of, question_key
from mapl.prediction.spending.one_rule import NAME as SEMI_PRIVATE
from mapl.prediction.spending.one_rule import STAGE, draw_once, plan_of_release
from mapl.prediction.spending.statement import state_answers, state_drawn_rule
from mapl.release import Ledger, Limits, Released, Statement
from mapl.release.files.labels import labels_table
from mapl.release.files.write_once import write_once
from mapl.release.ledger.sqlite import SqliteLedger
from mapl.types import Budget, Labels, RecordAdjacency, ShowProgress, Silent, State

VERB = "answer"


@dataclass(frozen=True, slots=True)
class AnswerQuestions:
    """What the command line was given, all public."""

    private: Address
    questions: Path
    label: str
    classes: Classes
    model: str
    method: str
    budget: Budget
    adjacency: RecordAdjacency
    features: tuple[str, ...] | None = None
    n_rows: int | None = None
    realizable: bool = False
    alpha: float | None = None
    no_unit: bool = False
    """Whether it was declared that every record stands for itself; it changes nothing else."""

    def request(self, given: AnswerInputs) -> dict[str, Any]:
        """Return what has to be the same for an unfinished run to go on."""
        return {
            **self.settings(),
            "private": fingerprint(given.points, given.ones),
            "questions": fingerprint(given.questions, given.truth),
        }

    def settings(self) -> dict[str, Any]:
        """Return what may be published of it."""
        return {
            "verb": VERB,
            "label": self.label,
            "classes": list(self.classes.names),
            "model": self.model,
            "method": self.method,
            "epsilon": float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "adjacency": self.adjacency,
            "features": None if self.features is None else list(self.features),
            "rows": self.n_rows,
            "realizable": self.realizable,
            "alpha": self.alpha,
            **({LABEL_VALUES: [list(pair) for pair in self.classes.values]} if self.classes.values else {}),
        }


@dataclass(frozen=True, slots=True)
class ToldAnswers:
    """The answers of a finished run, and what may be said about them. All public."""

    labels: Labels
    statement: Statement
    method: str
    bound: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True, repr=False)
class AnswerInputs(Silent):
    """Both tables as numbers: private records with their labels, and the different questions in their order."""

    points: Points
    ones: Labels
    questions: Points
    truth: Labels | None
    said: Declared

    @property
    def different(self) -> Points:
        """The questions without repetitions; those are free."""
        first = {question_key(row): i for i, row in reversed(list(enumerate(self.questions)))}
        return self.questions[sorted(first.values())]


@dataclass(frozen=True, slots=True)
class Way:
    """A method that is ready to answer: its plan, its bound, and what answers once the ledger is open."""

    plan: Plan
    bound: float | None
    tell: Callable[[Ledger], tuple[Labels, Statement]]


def carry_out(asked: AnswerQuestions, folder: RunFolder, coins: Coins, *, progress: ShowProgress) -> ToldAnswers:
    """Answer every question of the file, or go on with an unfinished run; RUN/public holds the result."""
    refuse_finished(folder)
    folder.refuse_if_used()
    key = folder.read_key()
    given = read(asked)
    once = asked.method == SEMI_PRIVATE
    way = at_once(asked, given, coins) if once else one_by_one(asked, given, coins, progress)
    request = {**asked.request(given), "coins": coins.private}
    with folder.begun(request, key), SqliteLedger(folder.ledger) as ledger:
        ledger.open(way.plan.digest, Limits.of_plan(way.plan))
        labels, said = way.tell(ledger)
        accuracy = None if given.truth is None else float((labels == given.truth).mean())
        told = ToldAnswers(labels, said, said.mechanism, way.bound, accuracy)
        publish(folder, asked, way.plan, told, ledger)
        write_owner_check(folder, asked.private, given.said)
        folder.finish()
    return told


def refuse_finished(folder: RunFolder) -> None:
    """Point to the answers of a finished run."""
    if folder.finished:
        raise InvalidParameter(
            f"{folder.path} holds a finished run; its answers are in {folder.public / LABELS}. Asking again would "
            "spend again, and the budgets add up; if that is meant, choose another --out."
        )


def one_by_one(asked: AnswerQuestions, given: AnswerInputs, coins: Coins, progress: ShowProgress) -> Way:
    """Make a predictor that is paid for every different question."""
    hypotheses = hypotheses_of(asked.model, given.points.shape[1])
    # What was declared stands in for the number of records where that is private.
    n_records = len(given.points) if asked.adjacency == "replace-one" else asked.n_rows
    wanted = Wanted(
        asked.budget,
        len(given.different),
        hypotheses,
        asked.adjacency,
        n_records,
        realizable=asked.realizable,
        alpha=asked.alpha,
    )
    offer = best_offer(wanted, asked.method)
    answering = Answering.of(offer, wanted)
    plan = plan_of(answering, wanted, asked.classes.names)
    predictor = offer.fit(given.points, given.ones, coins)

    def tell(ledger: Ledger) -> tuple[Labels, Statement]:
        book = AnswerBook(predictor, answering, ledger, coins)
        book.recall(given.questions)
        with progress("answers", len(given.different) - book.state.answered) as done:
            labels = book.ask(given.questions, on_answer=done)
        told = (answering, plan, book.state, coins)
        said = state_answers(*told, adjacency=asked.adjacency, ledger_head=ledger.head)
        return labels, said.recorded_by(ledger)

    return Way(plan, None if offer.bound is None else float(offer.bound), tell)


def at_once(asked: AnswerQuestions, given: AnswerInputs, coins: Coins) -> Way:
    """Release one rule out of those that the questions tell apart."""
    hypotheses = hypotheses_of(asked.model, given.points.shape[1])
    plan = plan_of_release(asked.budget, hypotheses, asked.adjacency, asked.classes.names, len(given.different))

    def tell(ledger: Ledger) -> tuple[Labels, Statement]:
        if not ledger.progress(STAGE).state.halted:
            draw_once(
                given.points,
                given.ones,
                hypotheses,
                public=given.different,
                plan=plan,
                adjacency=asked.adjacency,
                ledger=ledger,
                coins=coins,
            )
        said = state_drawn_rule(plan, coins, adjacency=asked.adjacency, ledger_head=ledger.head)
        return spread(given, ledger.progress(STAGE).labels), said.recorded_by(ledger)

    return Way(plan, None, tell)


def read(asked: AnswerQuestions) -> AnswerInputs:
    """Read the questions first, since they are public, and the private table by what they declare."""
    table = read_table(asked.questions, what="questions")
    refuse_only_labels(table.column_names, asked.label)
    with speaking(WITHOUT_SCHEMA):
        drafted = declare(table, label=asked.label, classes=asked.classes, unit=None, schema=None)
        for words in (ask_about(drafted.suspects, no_unit=asked.no_unit), *drafted.notices):
            if words is not None:
                warn(words)
    said = columns_of(drafted, asked.features)
    with speaking(WITHOUT_SCHEMA):
        if said.label not in table.column_names and (words := hint_of_words(said.classes)) is not None:
            warn(words)
        questions = take_public_rows(table, said, "questions")
        private = read_private(asked.private, said, all_count=asked.adjacency == "replace-one")
    names = said.schema.names
    points, asked_for = matrix(private.rows.open(), names), matrix(questions.rows, names)
    return AnswerInputs(points, private.labels, asked_for, questions.truth, said)


def matrix(rows: Rows, features: tuple[str, ...]) -> Points:
    """Return some columns as a matrix of floats."""
    return np.column_stack([np.asarray(numbers(column(rows, name)), dtype=np.float64) for name in features])


def spread(given: AnswerInputs, labels: NDArray[Any]) -> Labels:
    """Return an answer for every question, from those of the different ones."""
    told = dict(zip(map(question_key, given.different), labels.tolist(), strict=True))
    return np.array([told[question_key(row)] for row in given.questions], dtype=np.int32)


def publish(folder: RunFolder, asked: AnswerQuestions, plan: Plan, told: ToldAnswers, ledger: Ledger) -> None:
    """Write the public half; the spending is on disk already, and the statement comes before the answers."""
    from mapl.cli.learning.report import write_answers_report_of

    n = len(told.labels)
    released = Released(told.labels, None, State(n, 0, False, None), n)
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(labels_table(told.statement, released, asked.classes), sink)
    chain = "".join(json.dumps(entry, sort_keys=True) + "\n" for entry in ledger.export())
    settings = {
        **asked.settings(),
        "bound": told.bound,
        "accuracy": told.accuracy,
        OPTIONS: {
            **asked.settings(),
            LABEL_VALUES: write_label_values(asked.classes.values),
            "unit": NO_UNIT if asked.no_unit else None,
        },
    }
    files: Mapping[str, bytes] = {
        PLAN: plan.to_json().encode() + b"\n",
        STATEMENT: told.statement.to_json().encode() + b"\n",
        LEDGER: chain.encode(),
        SETTINGS: json.dumps(settings, indent=2, ensure_ascii=False).encode() + b"\n",
        LABELS: sink.getvalue().to_pybytes(),
    }
    for name, content in files.items():
        write_once(folder.public / name, content, same_is_fine=True)
    write_answers_report_of(folder)
