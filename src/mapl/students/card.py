"""The model card of a student: one page of Markdown for whoever gets the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from mapl.release.statement import at_most
from mapl.students.student import Student

WAYS = {
    "plain": "Questions without an answer were left out.",
    "imputed": "Questions without an answer got an arbitrary label, as in the papers that mapl implements.",
    "self-training": "Questions without an answer were labelled by the student itself, the surest first.",
    "voting": "The student is an ensemble of models that decide by majority vote.",
    "cleaned": "Every row got the class that the released labels of rows like it speak for.",
    "active": "The student chose the rows to ask about, by public rows and the labels released before.",
    "soft": "It learned from the released values as they are, noise included, and predicts probabilities.",
    "counts": "Each row was taught what the noisy counts of its cell say, weighted by how clearly they say it.",
}
MOST_LISTED = 30


@dataclass(frozen=True, slots=True)
class Source:
    """What a student learned from, in words."""

    title: str
    taught: str
    people: str
    seen: str
    limits: tuple[str, ...]


VOTES = Source(
    title="A student of a private vote",
    taught="labels",
    people="the people whose records trained the teachers",
    seen="Only public rows, with labels that were released under the privacy statement below. No private row, "
    "label or vote was seen by this model, and none is in its file.",
    limits=(
        "It repeats what the teachers' majority says, mistakes and unfairness included, and the noise of the "
        "release adds mistakes of its own.",
        "Rare classes and small groups suffer most: few teachers agree on them. Look at them before use.",
        "Rows that differ from the public ones (other years, places, instruments) may be predicted badly.",
        "Its probabilities describe the released labels, which are noisy; those of the true classes are higher.",
    ),
)

SCORES = Source(
    title="A student of private scores",
    taught="probabilities",
    people="the people whose records trained the teachers",
    seen="Only public rows, with probabilities that were released under the privacy statement below. No private "
    "row, label or score was seen by this model, and none is in its file.",
    limits=(
        "It repeats what the teachers' scores say together, mistakes and unfairness included, and the noise of the "
        "release adds mistakes of its own.",
        "Rare classes and small groups suffer most: few released values are about them. Look at them before use.",
        "Rows that differ from the public ones (other years, places, instruments) may be predicted badly.",
        "Its probabilities are those of the teachers' mean or median, smoothed; check them on labelled rows.",
    ),
)

COUNTS = Source(
    title="A student of noisy counts",
    taught="counts",
    people="the people whose records were counted",
    seen="Only public rows, with the noisy counts of private records around them, which were released under the "
    "privacy statement below. No private row, label or true count was seen by this model, and none is in its file.",
    limits=(
        "Where there are no public rows, nothing was learned: private records far from all of them taught it "
        "nothing, and there it guesses.",
        "It repeats what most records in each cell say, mistakes and unfairness included, and the noise of the "
        "counts adds mistakes of its own.",
        "Rare classes and small groups suffer most: their counts are small, and the noise is not. Look at them "
        "before use.",
        "Rows that differ from the public ones (other years, places, instruments) may be predicted badly.",
        "Its probabilities describe noisy counts, not the true ones.",
    ),
)


def model_card(
    student: Student,
    statement: Mapping[str, Any],
    *,
    plan: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
) -> str:
    """Write the card of a student.

    Parameters
    ----------
    statement
        The fields of the run's privacy statement (``statement.json``).
    plan
        The fields of the run's plan (``plan.json``); its reasons are quoted.
    evaluation
        Figures measured on public labelled rows, by name, such as ``{"accuracy": 0.84, "n": 2000}``.

    Returns
    -------
    str
        Markdown. Names that come from users are escaped, so that none of them becomes markup.
    """
    source = SCORES if student.strategy == "soft" else VOTES if statement.get("cells") is None else COUNTS
    sections = (
        ("", _title(student, statement, source)),
        ("Intended use", INTENDED.format(people=source.people)),
        ("Training data", _training(student, statement, source)),
        ("Privacy", _privacy(statement, plan)),
        ("Evaluation", _evaluation(evaluation)),
        ("Limits", _limits(student, statement, source)),
        ("How to use it", _use(student)),
    )
    return "\n\n".join(f"## {head}\n\n{body}" if head else body for head, body in sections) + "\n"


INTENDED = (
    "Predicting the class of rows that look like the public rows it was trained on. Predictions cost no further "
    "privacy, however many are made. It is not meant for decisions about a person without a human who looks at "
    "them, nor for learning anything about {people}."
)


def _title(student: Student, statement: Mapping[str, Any], source: Source) -> str:
    title = (
        f"# {source.title}\n\nA classifier for the classes {_listed(student.classes.names)}: "
        f"{_text(student.learner)}, trained by mapl {_text(statement.get('mapl_version', ''))}".rstrip()
        + f" on {source.taught} that differential privacy allows to publish."
    )
    if statement.get("private", True):
        return title
    return f"{title}\n\n> **NOT PRIVATE.** {_text(statement.get('in_plain_words', ''))}"


def _training(student: Student, statement: Mapping[str, Any], source: Source) -> str:
    learned = f"{source.seen} {_learned(student, statement)} {WAYS.get(student.strategy, '')}".rstrip()
    return f"{learned}\n\nColumns: {_listed(student.columns)}."


def _learned(student: Student, statement: Mapping[str, Any]) -> str:
    asked, abstained, cells = (statement.get(name) for name in ("queries", "abstained", "cells"))
    if cells is not None:
        return (
            f"It learned from {student.n_labels} public rows in {cells} cells; {abstained} of these rows have no "
            "label of their own, since no class leads by the noisy counts of their cell."
        )
    said = "" if asked is None else f" The teachers were asked {asked} questions and abstained on {abstained}."
    return f"It learned from {student.n_labels} labelled rows.{said}"


def _privacy(statement: Mapping[str, Any], plan: Mapping[str, Any] | None) -> str:
    if not statement.get("private", True):
        return f"**None.** {_text(statement.get('in_plain_words', ''))}"
    facts = {
        "epsilon, at most": _number(statement.get("guaranteed_epsilon")),
        "epsilon of what was published": _number(statement.get("epsilon")),
        "delta": _number(statement.get("delta")),
        "who is protected (unit)": _text(statement.get("unit", "")),
        "which data sets are compared (adjacency)": _text(statement.get("adjacency", "")),
        "mechanism": _text(statement.get("mechanism", "")),
        "teachers": _text(statement.get("teachers") or ""),
        "cells": _text(statement.get("cells") or ""),
        "noise": _text(statement.get("noise", "")),
        "epsilon and delta of all runs together, at most": _in_all(statement.get("together")),
    }
    parts = [_text(statement.get("in_plain_words", "")), _table(facts)]
    if plan is not None and plan.get("why"):
        parts.append(f"Why these settings: {_text(plan['why'])}.")
    assumptions = statement.get("assumptions") or ()
    if assumptions:
        parts.append(
            "This holds under these assumptions:\n\n" + "\n".join(f"- {_text(each)}" for each in assumptions)
        )
    return "\n\n".join(parts)


def _in_all(together: Any) -> str:
    """Say what all runs on the same people promise, where this one went on from others."""
    if not isinstance(together, Mapping):
        return ""
    return f"{_number(together.get('epsilon'))}, {_number(together.get('delta'))} (same unit and adjacency)"


def _evaluation(evaluation: Mapping[str, Any] | None) -> str:
    if not evaluation:
        return (
            "Not told here: where public test rows with known labels were given, report.html has it. To measure "
            "it: `mapl predict student.skops labelled.csv` reports the accuracy where the file has a label column."
        )
    return "Measured on public labelled rows that it was not trained on.\n\n" + _table(
        {_text(name): _number(value) for name, value in evaluation.items()}
    )


def _limits(student: Student, statement: Mapping[str, Any], source: Source) -> str:
    limits = [*source.limits]
    if statement.get("halted"):
        limits.append("The budget of the release ran out before all questions were asked.")
    return "\n".join(f"- {each}" for each in (*limits, *map(_text, student.warnings)))


def _use(student: Student) -> str:
    digest = student.statement_sha256
    seal = f"\n\nThe statement that belongs to it has the SHA-256 `{digest}`." if digest else ""
    return f"""\
```python
from pathlib import Path
from mapl.students import load

student = load(Path("student.skops"))
student.predict(rows)  # a DataFrame, pyarrow Table or matrix with the columns above
```

or `mapl predict student.skops rows.csv`. The file holds no code: `load` builds a fixed list of types and refuses \
everything else. Do not open it with pickle, and do not tell skops to trust whatever types a file names.{seal}"""


def _table(facts: Mapping[str, str]) -> str:
    lines = [f"| {name} | {value} |" for name, value in facts.items() if value]
    return "\n".join(("| | |", "|---|---|", *lines))


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(map(_text, names[:MOST_LISTED])) + more


def _number(value: Any) -> str:
    if isinstance(value, float):
        return at_most(value)
    return "" if value is None else _text(value)


def _text(value: Any) -> str:
    """Return text as it reads, with everything escaped that Markdown or HTML would take for markup."""
    plain = escape(" ".join(str(value).split()), quote=False)
    return "".join(f"\\{sign}" if sign in r"\`*_[]|#" else sign for sign in plain)
