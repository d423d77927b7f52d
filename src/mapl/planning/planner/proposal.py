"""A plan with what it is expected to give, and on which assumptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from mapl.mechanisms import AnyMechanism, Task, make
from mapl.planning.choosing.expectation import expect
from mapl.planning.planner.outlook import Outlook, TeacherCrowd
from mapl.planning.planner.question import Question
from mapl.planning.planner.student import student_accuracy

FLOOR = 0.99
"""Plans that lose at most one point of label accuracy to noise keep this."""

UNKNOWN_WINNER = (
    "How often the winner is right nobody has said; where a figure needs it, its share of the votes stands in."
)

NEARLY_ALL = 0.99
"""The share of its questions that a plan answers of which all must be answered."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan and what it is expected to give; all numbers of questions are expectations.

    ``calibrated`` says that the mechanism's settings are final and certified; where pricing three or more classes
    would take seconds, they are good to about a percent and a run settles them. ``student_forecast`` says where the
    student's accuracy comes from: the rule of `mapl.planning.planner.student`, or runs rehearsed on public rows.
    """

    mechanism: str
    n_teachers: int
    asked: int
    max_abstentions: int | None
    parameters: dict[str, Any]
    answered: float
    winners: float
    abstained: float
    label_accuracy: float
    plurality_accuracy: float
    student_accuracy: float | None
    calibrated: bool
    assumes: tuple[str, ...] = field(default=())
    rehearsed: bool = False

    @property
    def agreement(self) -> float:
        """The expected share of answers that give the teachers' winner."""
        return self.winners / self.answered if self.answered else 0.0

    @property
    def student_forecast(self) -> Literal["rule", "rehearsed"] | None:
        if self.student_accuracy is None:
            return None
        return "rehearsed" if self.rehearsed else "rule"


def keeps_floor(plan: Proposal | Outlook, *, optimism: float = 0.0) -> bool:
    """Say whether the labels of a plan are as often right as the winner of the vote, but for one point."""
    return plan.plurality_accuracy - plan.label_accuracy <= 1 - FLOOR - optimism


def answers_nearly_all(plan: Proposal | Outlook) -> bool:
    """Say whether a plan is expected to answer every question that it asks, but for one in a hundred."""
    return plan.answered >= NEARLY_ALL * plan.asked


def forecast_of(mechanism: AnyMechanism, task: Task, crowd: TeacherCrowd, question: Question) -> Proposal:
    """Forecast a calibrated mechanism by exact expectation over coins and orders of the questions."""
    votes = crowd.votes
    known = question.public_votes
    sample = votes.sample(task.n_teachers, task.n_classes) if known is None else known.as_right_as_sure()
    expected = expect(mechanism, task, sample)
    right = expected.winners if expected.right is None else expected.right
    accuracy = min(right / expected.answered, 1.0) if expected.answered > 0 else 0.0
    curve, student = question.student_curve, None
    if curve is not None:
        student = student_accuracy(
            curve,
            labels=expected.answered,
            label_accuracy=accuracy,
            plurality_accuracy=votes.plurality_accuracy,
            n_classes=task.n_classes,
        )
    return Proposal(
        mechanism=mechanism.name,
        n_teachers=task.n_teachers,
        asked=task.n_queries,
        max_abstentions=getattr(mechanism, "max_abstentions", None),
        parameters=dict(mechanism.parameters),
        answered=expected.answered,
        winners=expected.winners,
        abstained=expected.abstained,
        label_accuracy=accuracy,
        plurality_accuracy=votes.plurality_accuracy,
        student_accuracy=student,
        calibrated=True,
        assumes=assumptions(question, task.n_teachers),
    )


def calibrate_again(plan: Proposal, question: Question) -> tuple[AnyMechanism, Task]:
    """Return the calibrated mechanism of a plan and its task; an estimate is priced exactly, which may fail."""
    task = Task(question.budget, plan.n_teachers, question.n_classes, plan.asked)
    tested = ("threshold", "sigma_test", "sigma") if plan.mechanism == "confident-max" else ()
    settings = {name: plan.parameters[name] for name in tested}
    return make(plan.mechanism, task, max_abstentions=plan.max_abstentions, **settings), task


def propose_estimate(found: Outlook, name: str, settings: dict[str, Any], question: Question) -> Proposal:
    """Propose what was only estimated, with the settings that the estimate found."""
    return Proposal(
        mechanism=name,
        n_teachers=found.n_teachers,
        asked=found.asked,
        max_abstentions=found.limit,
        parameters=settings,
        answered=found.answered,
        winners=found.winners,
        abstained=found.abstained,
        label_accuracy=found.label_accuracy,
        plurality_accuracy=found.plurality_accuracy,
        student_accuracy=found.student_accuracy,
        calibrated=False,
        assumes=assumptions(question, found.n_teachers),
    )


def assumptions(question: Question, n_teachers: int, *, rehearsed: bool = False) -> tuple[str, ...]:
    """Say what a forecast rests on.

    Parameters
    ----------
    rehearsed
        Whether the student's accuracy comes from runs that were played through on public rows.
    """
    curve = question.learning_curve
    if question.public_votes is not None:
        return (
            f"Votes are spread as those of the {question.public_votes.n_teachers} teachers in the file of public "
            "votes, whatever the number of teachers.",
            UNKNOWN_WINNER,
            "Without a learning curve nothing is said about the student.",
        )
    if curve is None:
        declared = "as declared" if question.agreement is not None else "by default, nothing having been declared"
        return (
            f"The winner's share of the votes is {question.votes(n_teachers).agreement}, {declared}, whatever the "
            "number of teachers.",
            UNKNOWN_WINNER,
            "Without a learning curve nothing is said about the student.",
        )
    assert question.rows is not None
    each = question.rows / n_teachers
    low, high = curve.measured
    beyond = "" if low <= each <= high else f", beyond the {low:g} to {high:g} rows that the curve knows"
    limit = question.having("teachers", None).range_of_teachers()[1]
    edge = (
        ("More teachers were not considered: to see whether they pay, measure the learner on fewer rows.",)
        if question.teachers is None and n_teachers >= limit
        else ()
    )
    model = (
        "Votes are spread as those measured on the public sample."
        if question.measured is not None
        else "A question is hard for teachers where its label is uncertain, and teachers err independently."
    )
    student = "The student learns like the learner of the curve, on questions drawn like fresh rows."
    if rehearsed:
        student = (
            "The student is the learner that was measured, rehearsed on the public sample: public votes, labels "
            "released of them, and its accuracy on other public rows."
        )
    elif question.student_curve is None:
        student = (
            "A curve with one size, or one that does not fall, says nothing about the student: plans are ranked by "
            "their answers. For a forecast give the error at a second number of rows."
        )
    return (
        f"One teacher errs on {curve.error(each):.1%} of fresh rows after learning from {each:.0f}{beyond}.",
        model,
        student,
        *edge,
    )
