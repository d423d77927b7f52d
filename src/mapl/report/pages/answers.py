"""The report of `mapl answer`: what was promised, answered, spent and assumed, as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from mapl.data.tables.classes import Classes
from mapl.errors import InvalidData, InvalidParameter
from mapl.release.files.write_once import write_once
from mapl.release.statement.assumptions import Assumptions
from mapl.report.coverage import Coverage
from mapl.report.guarantee import Guarantee, number
from mapl.report.pages.page import LEDGER_HEAD, PLAN_DIGEST, environment
from mapl.report.report import PublicJson
from mapl.report.trail import Trail

HOW: Mapping[str, str] = {
    "padded-stumps": "All rules that look at one column and one cut vote, each with a weight that falls with its "
    "errors on the private records. The answer is a coin with the share of their weights.",
    "stable": "A random subset of the private records lists the rules that can be told apart on it, one of them is "
    "drawn by its errors on all records, and its answer is flipped now and then.",
    "realizable": "Teachers, each a rule that fits its own part of the private records, vote, and the answer is "
    "drawn with a chance that falls with the votes behind.",
    "gibbs": "One of several teachers, each a rule that fits its own part of the private records, is drawn to "
    "answer, and its answer is flipped now and then.",
    "two-stage": "A drawn rule labels the records anew, teachers learn from the new labels and vote privately, and "
    "the outcome is flipped now and then.",
    "semi-private": "The questions, which count as public, list the rules that can be told apart on them. One of "
    "these was drawn by its errors on the private records and released; all answers follow from it.",
}
"""How each method comes to an answer."""

AUDITED_AS: Mapping[str, str] = {"gibbs": "gibbs-flip", "realizable": "permute-and-flip"}
"""Methods whose privacy is that of a mechanism with another name."""
NOT_AUDITED = ("two-stage",)


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """Everything that the page shows about one run of `mapl answer`. All of it is public.

    ``different`` questions were paid for; ``each`` is what one of them costs, and None where one release was made.
    """

    guarantee: Guarantee
    coverage: Coverage
    assumptions: Assumptions
    trail: Trail
    method: str
    hypotheses: str
    different: int
    planned: int
    each: float | None
    bound: float | None
    accuracy: float | None
    why: str
    settings: tuple[tuple[str, Any], ...]

    @classmethod
    def of(
        cls,
        statement: PublicJson,
        *,
        plan: PublicJson,
        labels: pa.Table,
        classes: Classes,
        settings: PublicJson,
        ledger: Sequence[PublicJson],
    ) -> Self:
        """Gather the report from the public files of a run; refuse files of different runs."""
        coverage = Coverage.of(labels, classes)
        different = int(number(statement, "answered"))
        if different > coverage.overall.labelled:
            raise InvalidData(
                f"The statement says answered: {different}, and the labels file has {coverage.overall.labelled}; "
                "give the statement and the labels of the same run."
            )
        said, parameters = dict(settings), statement.get("parameters") or {}
        bound, accuracy = said.pop("bound", None), said.pop("accuracy", None)
        return cls(
            guarantee=Guarantee.of(statement, plan),
            coverage=coverage,
            assumptions=Assumptions.of(statement),
            trail=Trail.of(statement, plan, ledger),
            method=str(statement.get("mechanism", "not stated")),
            hypotheses=str(parameters.get("hypotheses", "not stated")),
            different=different,
            planned=int(number(statement, "planned_queries")),
            each=None if "epsilon_each" not in parameters else number(parameters, "epsilon_each"),
            bound=None if bound is None else float(bound),
            accuracy=None if accuracy is None else float(accuracy),
            why=str(plan.get("why") or ""),
            settings=tuple((name, value) for name, value in said.items() if name != "verb" and value is not None),
        )

    @property
    def how(self) -> str:
        return HOW.get(self.method, "")

    @property
    def once(self) -> bool:
        """Whether one release paid for all questions."""
        return self.each is None

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """What a reader can compute anew, and the command for it."""
        checks = (
            ("the digest of the plan", PLAN_DIGEST),
            ("the chain of the ledger and its head", LEDGER_HEAD),
        )
        if not self.guarantee.holds or self.method in NOT_AUDITED:
            return checks
        name = AUDITED_AS.get(self.method, self.method)
        epsilon = self.guarantee.epsilon if self.each is None else self.each
        chosen = "--queries 1" if name != self.method else f"--adjacency {self.guarantee.kind}"
        what = "what an adversary who knows all but the coins finds out from one answer, in a small world"
        return (*checks, (what, f"mapl audit --mechanism {name} --epsilon {epsilon:.6g} --delta 0 {chosen}"))


def render(report: AnswersReport) -> str:
    """Return the page; the same report gives the same text. Everything from outside is escaped."""
    return environment().get_template("answers.html").render(report=report).lstrip()


def write_answers_page(path: Path, report: AnswersReport) -> None:
    """Write the page anew."""
    try:
        path.unlink(missing_ok=True)  # it is made from public files whenever it is asked for
        write_once(path, render(report).encode())
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be written ({failure.strerror}); choose another file.") from None
