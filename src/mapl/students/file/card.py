"""The model card of a student: one page of Markdown for whoever gets the file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from mapl.release.statement.assumptions import Assumptions
from mapl.release.statement.plain_words import at_most
from mapl.release.statement.stated_sums import StatedSums
from mapl.students.file.card_sources import (
    COUNTS,
    SCORES,
    SUMS,
    SUMS_OF_NUMBERS,
    VOTES,
    WAYS,
    CardSource,
    without_public_rows,
)
from mapl.students.moments.student import BLENDED, LINEAR
from mapl.students.student import Student

MOST_LISTED = 30
TAUGHT = {LINEAR: "", BLENDED: " Beside the linear model stands a kernel that it taught on the {rows}."}
"""What is said of students of sums that are not named here: that another model taught them."""


def model_card(
    student: Student,
    statement: Mapping[str, Any],
    *,
    plan: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    file: str = "student.skops",
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
    file
        What the student's file is called.

    Returns
    -------
    str
        Markdown. Names that come from users are escaped, so that none of them becomes markup.
    """
    source = _source(student, statement)
    sections = (
        ("", _title(student, statement, source)),
        ("Intended use", INTENDED.format(what=_predicted(student), like=source.like, people=source.people)),
        ("Training data", _training(student, statement, source)),
        ("Privacy", _privacy(statement, plan)),
        ("Evaluation", _evaluation(evaluation, file)),
        ("Limits", _limits(student, statement, source)),
        ("How to use it", _use(student, file)),
    )
    page = "\n\n".join(f"## {head}\n\n{body}" if head else body for head, body in sections)
    return f"{_front_matter(student, statement)}\n{page}\n"


def _front_matter(student: Student, statement: Mapping[str, Any]) -> str:
    """Return what hubs of models read off a card: YAML whose values are JSON, so that none of them is markup."""
    fields: dict[str, Any] = {
        "library_name": "mapl",
        "pipeline_tag": f"tabular-{'classification' if student.number_range is None else 'regression'}",
        "tags": ["differential-privacy", "mapl", "skops"],
        "private": bool(statement.get("private", True)),
    }
    fields |= {name: statement[name] for name in ("guaranteed_epsilon", *PROMISED) if name in statement}
    lines = (f"{name}: {_yaml(value)}" for name, value in fields.items())
    fence = 3 * "-"
    return "\n".join([fence, *lines, fence])


def _yaml(value: Any) -> str:
    if isinstance(value, float):
        return re.sub(r"^(-?\d+)e", r"\1.0e", repr(value))  # YAML takes 1e-06 for text
    return re.sub(r"[<>&]", lambda mark: f"\\u{ord(mark[0]):04x}", json.dumps(value))


PROMISED = ("delta", "adjacency", "unit")
"""What an epsilon means nothing without."""


def _source(student: Student, statement: Mapping[str, Any]) -> CardSource:
    sums = StatedSums.of(statement)
    if sums is not None:
        source = SUMS if student.number_range is None else SUMS_OF_NUMBERS
        return without_public_rows(source) if sums.products else source
    return SCORES if student.strategy == "soft" else VOTES if statement.get("cells") is None else COUNTS


INTENDED = (
    "Predicting {what} of rows that look like {like}. Predictions cost no further "
    "privacy, however many are made. It is not meant for decisions about a person without a human who looks at "
    "them, nor for learning anything about {people}."
)


def _predicted(student: Student) -> str:
    return "the class" if student.number_range is None else "the number"


def _title(student: Student, statement: Mapping[str, Any], source: CardSource) -> str:
    what = f"A classifier for the classes {_listed(student.classes.names)}"
    if student.schema.further:
        what += f" of the label {_text(student.schema.label)}, one of {len(student.schema.labels)}"
    if student.number_range is not None:
        what = f"A regression for numbers of the range {student.number_range}"
    title = (
        f"# {source.title}\n\n{what}: "
        f"{_text(student.learner)}, trained by mapl {_text(statement.get('mapl_version', ''))}".rstrip()
        + f" on {source.taught} that differential privacy allows to publish."
    )
    if statement.get("private", True):
        return title
    return f"{title}\n\n> **NOT PRIVATE.** {_text(statement.get('in_plain_words', ''))}"


def _training(student: Student, statement: Mapping[str, Any], source: CardSource) -> str:
    learned = f"{source.seen} {_learned(student, statement, source)} {WAYS.get(student.strategy, '')}".rstrip()
    return f"{learned}\n\nColumns: {_listed(student.columns)}."


def _learned(student: Student, statement: Mapping[str, Any], source: CardSource) -> str:
    sums = StatedSums.of(statement)
    if sums is not None:
        taught = TAUGHT.get(student.learner, " A linear model of all this taught it on the {rows}.")
        together = f"{student.n_labels} public rows tell what the sums do not: how columns go together."
        if sums.products:
            together = "There were no public rows; how columns go together was summed up as well."
        return (
            f"The sums are {sums.in_words}, {sums.entries:,} numbers in all, each of which got normal noise. "
            f"{together}{taught.format(rows=source.rows)}"
        )
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
        "sums": _summed(statement),
        "noise": _text(statement.get("noise", "")),
        "epsilon and delta of all runs together, at most": _in_all(statement.get("together")),
    }
    parts = [_text(statement.get("in_plain_words", "")), _table(facts)]
    if plan is not None and plan.get("why"):
        parts.append(f"Why these settings: {_text(plan['why'])}.")
    assumptions = Assumptions.of(statement)
    for heading, said in (
        ("This holds under these assumptions:", assumptions.to_confirm),
        ("Checked by mapl during the run:", assumptions.checked),
    ):
        if said:
            parts.append(f"{heading}\n\n" + "\n".join(f"- {_text(each)}" for each in said))
    return "\n\n".join(parts)


def _summed(statement: Mapping[str, Any]) -> str:
    sums = StatedSums.of(statement)
    return "" if sums is None else sums.in_words


def _in_all(together: Any) -> str:
    """Say what all runs on the same people promise, where this one went on from others."""
    if not isinstance(together, Mapping):
        return ""
    return f"{_number(together.get('epsilon'))}, {_number(together.get('delta'))} (same unit and adjacency)"


def _evaluation(evaluation: Mapping[str, Any] | None, file: str) -> str:
    if not evaluation:
        return (
            "Not told here: where public test rows with known labels were given, report.html has it. To measure "
            f"it: `mapl predict {file} labelled.csv` reports the accuracy, of numbers the mean error, where "
            "the file has a label column."
        )
    return "Measured on public labelled rows that it was not trained on.\n\n" + _table(
        {_text(name): _number(value) for name, value in evaluation.items()}
    )


def _limits(student: Student, statement: Mapping[str, Any], source: CardSource) -> str:
    limits = [*source.limits]
    if statement.get("halted"):
        limits.append("The budget of the release ran out before all questions were asked.")
    return "\n".join(f"- {each}" for each in (*limits, *map(_text, student.warnings)))


def _use(student: Student, file: str) -> str:
    digest = student.statement_sha256
    seal = f"\n\nThe statement that belongs to it has the SHA-256 `{digest}`." if digest else ""
    return f"""\
```python
from pathlib import Path
from mapl.students import load

student = load(Path("{file}"))
student.predict(rows)  # a DataFrame, pyarrow Table or matrix with the columns above
```

or `mapl predict {file} rows.csv`. The file holds no code: `load` builds a fixed list of types and refuses \
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
