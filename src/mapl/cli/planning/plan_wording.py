"""What ``mapl plan`` prints for people: what each figure is, on what it rests, and how to carry it out."""

from __future__ import annotations

from rich.table import Table

from mapl.cli.console import out
from mapl.planning.budgets.earlier_runs import EarlierRuns
from mapl.planning.planner.answer import Answer, votes_alone
from mapl.planning.planner.command_words import not_above
from mapl.planning.planner.proposal import Proposal
from mapl.planning.planner.ways import HOW_KNOWN, LearningWay
from mapl.release.statement.plain_words import at_most

MOST_SHOWN = 8
BY_RULE = "~"
"""Marks the student's accuracy of a plan that could not be rehearsed beside others that were."""

WITHIN_A_POINT = "25 of 30 and 27 of 30"
"""What benchmarks/results/plan_moments.md and plan_moments_other.md say of rehearsed forecasts; a test compares."""

NO_ACCURACY = (
    "No accuracy is forecast, because nothing tells how well your data can be learned. For a rehearsal give "
    "labelled public rows (--public-sample FILE --label COLUMN), for a rough figure a learner's error (--error-at)."
)


def show_answer(found: Answer) -> None:
    """Print an answer for people."""
    question = found.question
    assert question.epsilon is not None
    if found.earlier is not None:
        _say(f"Earlier runs: {found.earlier.describe()}. {_going_on(found, found.earlier)}")
    if found.solution is not None:
        _say(say_solved(found))
    if found.others:
        out.print(_ways(found))
    _say(
        f"Budget: epsilon {at_most(question.epsilon)} ({found.terms}). Figures are expectations; nothing private "
        "was read."
    )
    if found.others:
        for words in _about_ways(found):
            _say(words)
    for words in found.cautions:
        _say(words)
    if found.refused is not None:
        _say(f"No plan for teachers: {found.refused}")
    if found.proposals:
        out.print()
        out.print(_plans(found))
        if not all(one.calibrated for one in found.proposals):
            _say("* settings to within about a percent; a run settles them.")
        told = _about_students(found)
        if told is not None:
            _say(told)
        out.print()
        _say("Assumed of the first plan for teachers: " + " ".join(found.best.assumes))
    for way in found.ways if found.others else ():
        if way.plan is None:
            _say(f"Assumed of {_with_terms(found, way)}: {' '.join(way.assumes)}")
    out.print()
    for place, way in enumerate(found.ways):
        _say(f"{'To carry the first out' if not place else f'By {way.method}'}: {found.way_command(way)}")
        caution = None if way.plan is None else found.caution(way.plan)
        if caution is not None:
            _say(caution)


def say_solved(found: Answer) -> str:
    """Say the quantity that was solved for."""
    solution = found.solution
    assert solution is not None
    name = {
        "epsilon": f"epsilon {solution.value:g} ({found.terms})",
        "rows": f"{solution.value:,.0f} rows",
        "queries": f"{solution.value:,.0f} questions",
        "teachers": f"{solution.value:,.0f} teachers",
        "max_abstentions": f"a limit of {solution.value:,.0f} abstentions",
    }[solution.unknown]
    bound = "at most" if solution.is_most else "at least"
    others = " Teachers were solved for; others may do with less." if found.others else ""
    return f"For {solution.wish} it takes {bound} {name}, to within a few percent.{others}"


def _say(words: str) -> None:
    out.print(words, soft_wrap=True)


def _ways(found: Answer) -> Table:
    """Show moments, cells and teachers beside each other."""
    shown = Table(title="What students are expected to reach", title_justify="left")
    shown.add_column("way", no_wrap=True)
    shown.add_column("student right\non fresh rows", justify="right", no_wrap=True)
    shown.add_column("how that is known")
    shown.add_column("takes")
    for way in found.ways:
        shown.add_row(way.method, _accuracy(way), HOW_KNOWN[way.forecast], way.what)
    return shown


def _accuracy(way: LearningWay) -> str:
    if way.student_accuracy is None:
        return "–"
    return f"{way.student_accuracy:.1%}" + ("" if way.error is None else f" ± {100 * way.error:.1f}")


def _about_ways(found: Answer) -> list[str]:
    """Say what the accuracies of the ways are worth."""
    kinds = {way.forecast for way in found.ways}
    said = []
    if kinds == {None}:
        said.append(f"{NO_ACCURACY} Ways are in the order of our benchmarks on most tables.")
    if "rehearsed" in kinds:
        said.append(
            "± is twice the standard error of a forecast; single runs vary about it. In our benchmark rehearsed "
            f"forecasts of moments were within one point on {WITHIN_A_POINT} settings; those of cells were not "
            "measured."
        )
    if "model" in kinds:
        said.append(
            "By the model a student errs like the learner of the curve on fewer rows. It is rough: give labelled "
            "public rows (--public-sample) for a rehearsal."
        )
    if found.sample is not None:
        said.append(f"Always naming the commonest class is right on {found.sample.commonest:.1%} of the sample.")
    return said


def _with_terms(found: Answer, way: LearningWay) -> str:
    """Name a way, with all terms of its epsilon where they are not those of the budget."""
    if way.method != "cells" or found.cells is None:
        return way.method
    return (
        f"cells, {found.cells.n_cells} of them at epsilon {found.cells.epsilon:.6g}, pure (delta 0; adjacency: "
        f"{found.adjacency}; unit: {found.unit}), {found.cells.why}"
    )


def _about_students(found: Answer) -> str | None:
    """Say what the figures of teachers are: shares of the vote, or accuracies by rehearsal, or by a rule."""
    if found.question.learning_curve is None:
        return (
            "*Agrees with the vote* is the share of answers that give the winner of the teachers' vote. It is no "
            "accuracy: nothing tells how often that winner is right."
        )
    shown = found.proposals[:MOST_SHOWN]
    kinds = {one.student_forecast for one in shown} - {None}
    if not kinds:
        return None
    hope = "It is a hope where labels are few or noisy: in our benchmark it was up to 16 points too high."
    if kinds == {"rule"}:
        why = (
            ""
            if found.question.measured is None
            else " The public sample has too few rows to rehearse them: it takes twice as many as are asked."
        )
        return f"Students of teachers: by rule, from the learning curve.{why} {hope}"
    if kinds == {"rehearsed"}:
        words = "Students of teachers: rehearsed, by playing these plans through on the public sample."
    else:
        words = (
            f"Students of teachers: rehearsed on the public sample, but for those with {BY_RULE}, which are by "
            f"rule. {hope}"
        )
    solution, best = found.solution, found.best
    wished = None if solution is None else solution.wish.accuracy
    if wished is not None and best.rehearsed and (best.student_accuracy or 0.0) < wished:
        words += (
            f" The wish was solved for by the rule; rehearsed, the first plan reaches {best.student_accuracy:.1%}, "
            f"not the {wished:.1%} wished for: wish for as much more."
        )
    return words


def _going_on(found: Answer, earlier: EarlierRuns) -> str:
    """Say what is left for the new run, or where its epsilon was solved for, what all of them need."""
    question, solution = found.question, found.solution
    assert question.epsilon is not None
    if solution is None or solution.unknown != "epsilon":
        return f"For one more run epsilon {not_above(question.epsilon, 6)} is left ({found.terms})."
    total = earlier.together_with(question.budget)
    return (
        f"With the new run a total of epsilon {at_most(total.epsilon, 6)} has to be allowed (delta "
        f"{at_most(total.delta, 6)}; adjacency: {found.adjacency}; unit: {found.unit})."
    )


def _plans(found: Answer) -> Table:
    """Show the plans for teachers."""
    question = found.question
    known = question.learning_curve is not None
    whose = " for teachers" if found.others else ""
    shown = Table(
        title=f"Plans{whose} for {question.queries:,} question{'' if question.queries == 1 else 's'} of "
        f"{question.n_classes} classes",
        title_justify="left",
    )
    shown.add_column("mechanism", no_wrap=True)
    labels = ("labels\nright", "student\nright") if known else ("agrees with\nthe vote",)
    for heading in ("teachers", "asked", "abstains\nat most", "answered", *labels):
        shown.add_column(heading, justify="right")
    for one in found.proposals[:MOST_SHOWN]:
        mixed = any(other.rehearsed for other in found.proposals)
        shown.add_row(
            one.mechanism + ("" if one.calibrated else " *") + (" †" if votes_alone(one) else ""),
            f"{one.n_teachers:,}",
            f"{one.asked:,}",
            "–" if one.max_abstentions is None else f"{one.max_abstentions:,}",
            f"{one.answered:,.0f}",
            *((f"{one.label_accuracy:.1%}", _student(one, mixed=mixed)) if known else (f"{one.agreement:.1%}",)),
        )
    if any(votes_alone(one) for one in found.proposals[:MOST_SHOWN]):
        shown.caption, shown.caption_justify = (
            "† by mapl aggregate, on a file of votes; mapl learn has no such plan",
            "left",
        )
    return shown


def _student(plan: Proposal, *, mixed: bool) -> str:
    if plan.student_accuracy is None:
        return "–"
    return f"{plan.student_accuracy:.1%}" + (f" {BY_RULE}" if mixed and not plan.rehearsed else "")
