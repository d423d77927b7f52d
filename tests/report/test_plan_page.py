"""The page of a plan: well-formed, self-contained, escaped, and never an epsilon without its terms."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mapl.planning import Agreement
from mapl.planning.budgets.earlier_runs import EarlierRun, EarlierRuns
from mapl.planning.planner.answer import Answer, answer_question
from mapl.planning.planner.question import Question, Wish
from mapl.planning.votes.learning_curve import LearningCurve
from mapl.release.statement.promise import promise_of
from mapl.report.pages.plan import WORDS, render
from mapl.report.plots.lines import Curve, Field, line_plot

HOSTILE = "<script>alert('x')</script>{{ 7*7 }}"
PROMISE = promise_of("add-remove", "patient_id")
QUESTION = Question(
    delta=1e-6,
    epsilon=1.0,
    rows=20_000,
    queries=800,
    curve=LearningCurve.parse("100:0.20,1000:0.16"),
    unit="patient_id",
)


@pytest.fixture(scope="module")
def answer() -> Answer:
    return answer_question(QUESTION, None, adjacency=PROMISE.adjacency, unit=PROMISE.unit)


@pytest.fixture(scope="module")
def page(answer: Answer) -> str:
    return render(answer)


def test_it_begins_as_a_page_and_every_tag_is_closed(page: str) -> None:
    assert page.startswith("<!DOCTYPE html>")
    for tag in ("section", "table", "figure", "svg", "ul", "dl", "div", "p", "tr", "td", "span", "pre"):
        assert len(re.findall(rf"<{tag}[\s>]", page)) == page.count(f"</{tag}>"), tag
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_it_needs_nothing_from_anywhere(page: str) -> None:
    assert not re.search(r"https?://|src=|@import|url\(|<script", page)


def test_pictures_show_mapl_and_both_papers_for_three_quantities(page: str) -> None:
    assert page.count('<svg class="plot"') == 6
    for name in ("mapl", "BTT18, sparse vector", "LZCW21, sparse vector", "LZCW21, Gaussian"):
        assert name in page
    for style in range(1, 5):
        assert page.count(f'class="line line-{style}" d="M') == 7  # six plots and the legend
    for words in ("by epsilon", "by number of teachers K", "by number of questions M"):
        assert page.count(f"<figcaption>{words}</figcaption>") == 2


def test_every_proposal_is_in_it_in_plain_words(page: str, answer: Answer) -> None:
    for plan in answer.proposals:
        assert f'<th scope="row">{plan.mechanism}</th>' in page
        assert WORDS[plan.mechanism].capitalize() in page
    for words in answer.best.assumes:
        assert words in page


def test_every_section_with_an_epsilon_names_delta_unit_and_adjacency(page: str) -> None:
    for section in re.findall(r"<section.*?</section>", page, flags=re.DOTALL):
        if re.search(r"epsilon (≤ )?\d", section):
            assert "10⁻⁶" in section
            assert PROMISE.unit in section
            assert PROMISE.adjacency in section


def test_what_went_before_is_told_and_escaped(answer: Answer) -> None:
    runs = EarlierRuns((EarlierRun(HOSTILE, 0.5, 1e-7, "add-remove", "patient_id", "ab"),))
    page = render(replace(answer, earlier=runs))
    assert "What went before" in page
    assert "<script>" not in page
    assert "49" not in page.split("What went before")[1].split("</section>")[0]


def test_a_solved_quantity_stands_at_the_top() -> None:
    found = answer_question(replace(QUESTION, epsilon=None), Wish(accuracy=0.83), adjacency="a", unit="u")
    assert found.solution is not None
    page = render(found)
    assert f"an epsilon of <strong>{found.solution.value:g}</strong>" in page


def test_without_a_curve_nothing_is_said_about_the_student() -> None:
    bare = replace(QUESTION, curve=None, agreement=Agreement.default(), teachers=300)
    page = render(answer_question(bare, None, adjacency="a", unit="u"))
    assert page.count('<svg class="plot"') == 3
    assert "needs a learning curve" in page


def test_without_a_delta_there_are_no_pictures() -> None:
    page = render(answer_question(replace(QUESTION, delta=0.0, queries=50), None, adjacency="a", unit="u"))
    assert '<svg class="plot"' not in page
    assert "permute-and-flip" in page


def test_numbers_lie_where_they_belong() -> None:
    curves = [Curve("a", 1, ((1.0, 0.0), (10.0, 50.0), (100.0, 100.0)))]
    field = Field.around(curves, bottom=0.0)
    assert field.x(10.0) == pytest.approx((field.x(1.0) + field.x(100.0)) / 2)
    assert field.y(0.0) > field.y(50.0) > field.y(100.0)
    drawn = line_plot(curves, name="n", title="t", across="x", chosen=10.0)
    assert "Where the plan stands: a 50." in drawn
    assert drawn.count("<text") >= 6


def test_one_point_and_flat_lines_can_be_drawn() -> None:
    assert "<svg" in line_plot([Curve("a", 1, ((5.0, 0.0),))], name="n", title="t", across="x", chosen=5.0)
    flat = [Curve("a", 1, ((1.0, 0.8), (2.0, 0.8)))]
    assert "80" in line_plot(flat, name="n", title="t", across="x", chosen=1.0, percent=True)
