"""The page: well-formed, self-contained, escaped, and never an epsilon without delta, adjacency and unit."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from public_files import PROMISE, Run
from typer.testing import CliRunner

from mapl.cli import app
from mapl.errors import InvalidParameter
from mapl.release.statement.promise import promise_of
from mapl.report import Evaluation, Report, render, write_report
from mapl.report.coverage import Coverage
from mapl.types import Adjacency

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = "<script>alert('x')</script>\"&{{ 7*7 }}</style>"


@dataclass
class Element:
    """A node of the parsed page."""

    tag: str
    attributes: dict[str, str | None]
    parent: Element | None
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.walk()

    def all(self, tag: str, **attributes: str) -> list[Element]:
        return [
            e for e in self.walk() if e.tag == tag and all(e.attributes.get(k) == v for k, v in attributes.items())
        ]

    def of_class(self, name: str) -> list[Element]:
        return [e for e in self.walk() if name in (e.attributes.get("class") or "").split()]

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in ("style", "title", "desc"):
                yield from child._texts()


class Strict(HTMLParser):
    """Builds the tree and refuses what a browser would silently mend."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.open = Element("", {}, None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> repeats an attribute"
        made = Element(tag, dict(attrs), self.open)
        self.open.children.append(made)
        if tag not in VOID:
            self.open = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.children.append(Element(tag, dict(attrs), self.open))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.tag == tag, f"</{tag}> closes <{self.open.tag}>"
        assert self.open.parent is not None
        self.open = self.open.parent

    def handle_data(self, data: str) -> None:
        self.open.children.append(data)


def parse(html: str) -> Element:
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open is parser.root, f"<{parser.open.tag}> is never closed"
    return parser.root


def full(run: Run, evaluation: Evaluation | None, **given: Any) -> Report:
    shown = {"learner": "hgb", "student": "logistic", "strategy": "plain", "cache": "/home/someone/cache.bin"}
    return run.report(**{"groups": ("region",), "evaluation": evaluation, "settings": shown} | given)


@pytest.fixture(scope="module")
def pages(
    learned_run: Run,
    private_run: Run,
    seeded_run: Run,
    noiseless_run: Run,
    counted_run: Run,
    recounted_run: Run,
    seeded_count: Run,
    summed_run: Run,
    worded_run: Run,
    seeded_sums: Run,
    evaluation: Evaluation,
) -> dict[str, str]:
    return {
        "learned": render(full(learned_run, evaluation)),
        "aggregated": render(private_run.report()),
        "seeded": render(full(seeded_run, evaluation)),
        "noiseless": render(noiseless_run.report()),
        "counted": render(full(counted_run, evaluation, groups=())),
        "recounted": render(full(recounted_run, evaluation, groups=())),
        "seeded count": render(seeded_count.report()),
        "summed": render(full(summed_run, evaluation, groups=())),
        "summed words": render(worded_run.report()),
        "seeded sums": render(seeded_sums.report()),
    }


@pytest.fixture(
    params=[
        *("learned", "aggregated", "seeded", "noiseless", "counted", "recounted", "seeded count", "summed"),
        *("summed words", "seeded sums"),
    ],
)
def page(request: pytest.FixtureRequest, pages: dict[str, str]) -> str:
    return pages[request.param]


def test_the_page_is_well_formed(page: str) -> None:
    assert page.startswith("<!DOCTYPE html>")
    root = parse(page)
    html = root.all("html")[0]
    assert html.attributes["lang"] == "en"
    assert len(root.all("h1")) == len(root.all("main")) == len(root.all("title", id="")) + 1 == 1
    ids = [e.attributes["id"] for e in root.walk() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for link in root.all("a"):
        assert (link.attributes["href"] or "").removeprefix("#") in ids
    for element in root.walk():
        for name in (element.attributes.get("aria-labelledby") or "").split():
            assert name in ids


def test_the_page_needs_nothing_but_itself(page: str) -> None:
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", page)
    root = parse(page)
    assert not {e.tag for e in root.walk()} & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    for element in root.walk():
        assert not any(name.startswith("on") or name in ("src", "srcset", "style") for name in element.attributes)


def test_sections_stand_in_order_under_headings(page: str) -> None:
    root = parse(page)
    names = [section.attributes["id"] for section in root.all("section")]
    assert [name for name in names if name not in ("cells", "weights")] == [
        "protected", "meaning", "released", "quality", "method", "assumptions", "limits", "check",
    ]  # fmt: skip
    assert names.count("weights") == root.text.count("What the student goes by") / 2
    assert names.count("cells") == root.text.count("Map of the cells") / 2  # in the contents and as a heading
    levels = [int(e.tag[1]) for e in root.walk() if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_and_pictures_can_be_heard(page: str) -> None:
    root = parse(page)
    for table in root.all("table"):
        assert table.all("caption")
        assert all(th.attributes.get("scope") in ("row", "col") for th in table.all("th"))
        assert all(th.text for th in table.all("th"))
    pictures = root.all("svg")
    assert pictures
    for picture in pictures:
        title = picture.children[0]
        assert isinstance(title, Element)
        assert title.tag == "title"
        assert title.children
        if picture.attributes.get("aria-hidden") != "true":
            assert picture.attributes["role"] == "img"
            assert picture.all("desc")[0].children


def test_no_epsilon_without_delta_unit_and_adjacency(
    pages: dict[str, str], learned_run: Run, private_run: Run, counted_run: Run, recounted_run: Run
) -> None:
    runs = {"learned": learned_run, "aggregated": private_run, "counted": counted_run, "recounted": recounted_run}
    for name, run in runs.items():
        root = parse(pages[name])
        epsilons = root.of_class("epsilon")
        assert len(epsilons) >= 7
        for epsilon in epsilons:
            block = epsilon
            while "data-guarantee" not in block.attributes:
                assert block.parent is not None, "an epsilon stands alone"
                block = block.parent
            assert "epsilon" in block.text.lower()
            assert "delta" in block.text
            assert ("delta 0" if run.cells is not None else "10⁻⁵") in block.text.replace("delta0", "delta 0")
            assert run.statement["unit"] in block.text
            assert run.statement["adjacency"] in block.text
        # No other number is called epsilon, apart from the statement's own words, the plan's (which stand beside
        # delta, unit and adjacency), a command and a formula.
        for why in root.of_class("why"):
            assert why.parent is not None
            assert run.statement["adjacency"] in why.parent.text
            assert run.statement["unit"] in why.parent.text
        quoted = (*root.all("blockquote"), *root.of_class("why"))
        for element in (*epsilons, *quoted, *root.all("pre"), *root.all("sup")):
            element.children.clear()
        assert not re.search(r"(epsilon|ε)\W{0,4}\d", root.text)


def test_the_headline_tells_the_promise_and_the_outcome(pages: dict[str, str], learned_run: Run) -> None:
    root = parse(pages["learned"])
    lead, promise = root.of_class("lead")[0].text, root.of_class("promise")[0].text
    answered = learned_run.statement["answered"]
    assert f"Labels for {answered} of 200 public rows were released" in lead
    assert "vote of 120 models" in lead
    assert PROMISE.unit in promise
    assert PROMISE.adjacency in promise
    assert "1 in 100,000" in promise
    cards = [card.text for card in root.of_class("card")]
    assert any("80.0%" in card and "10 public rows" in card for card in cards)
    assert root.of_class("alarm") == []
    assert "NOT PRIVATE" not in pages["learned"]


def test_rows_that_were_not_asked_are_no_questions(learned_run: Run) -> None:
    """A plan may ask fewer rows than there are, and the page says of how many it tells."""
    status = ["answered"] * 30 + ["abstained"] * 10 + ["not asked"] * 160
    named = pa.array([("no" if one == "answered" else None) for one in status])
    labels = pa.table({"question": range(200), "label": named, "status": status})
    coverage = Coverage.of(labels, learned_run.classes)
    root = parse(render(replace(learned_run.report(), coverage=coverage)))
    lead, cards = root.of_class("lead")[0].text, [card.text for card in root.of_class("card")]
    assert "Labels for 30 of 200 public rows were released" in lead
    assert "40 of the rows were asked." in lead
    assert any("30 of 200 public rows, of which 40 were asked" in card for card in cards)


def test_no_student_is_told_of_where_no_label_was_released(learned_run: Run) -> None:
    n = len(learned_run.labels)
    nothing = pa.table({"question": range(n), "label": pa.nulls(n, pa.string()), "status": ["abstained"] * n})
    given = {"statement": learned_run.statement | {"answered": 0, "abstained": n}, "ledger": None}
    asked = {"settings": {"student": "auto"}}
    assert "a model (the student)" in parse(render(learned_run.report(**asked))).of_class("lead")[0].text
    root = parse(render(learned_run.report(**given, **asked, labels=nothing)))
    assert f"Labels for 0 of {n} public rows were released." in root.of_class("lead")[0].text
    assert "student was trained" not in root.text


@pytest.mark.parametrize("name", ["seeded", "noiseless", "seeded count"])
def test_what_is_not_private_says_so_loudly(pages: dict[str, str], name: str) -> None:
    root = parse(pages[name])
    (alarm,) = root.of_class("alarm")
    assert alarm.text.startswith("NOT PRIVATE")
    assert "do not publish" in alarm.text
    assert ("without noise" if name == "noiseless" else "known seed") in alarm.text
    assert root.all("title")[0].children[0] == "NOT PRIVATE – Privacy report"
    assert root.of_class("epsilon") == []
    assert root.of_class("verdict") == []
    assert "Best possible attack" not in root.text
    assert "Nothing." in root.all("section", id="protected")[0].text


def test_a_statement_that_lost_its_claim_is_not_quoted(private_run: Run) -> None:
    statement = {name: value for name, value in private_run.statement.items() if name != "private"}
    root = parse(render(private_run.report(statement=statement)))
    assert root.of_class("alarm")[0].text.startswith("NOT PRIVATE The statement promises no privacy.")
    assert "Whatever anybody concludes" not in root.text


def test_risk_is_printed_as_computed(pages: dict[str, str], learned_run: Run) -> None:
    risk = learned_run.report().guarantee.risk
    assert risk is not None
    table = parse(pages["learned"]).all("section", id="meaning")[0].all("table")[0]
    shown = [[cell.text for cell in row.all("th") + row.all("td")] for row in table.all("tr")[1:]]
    assert [row[0] for row in shown] == ["0.1%", "1%", "5%", "10%"]
    for (_, hits), (_, printed) in zip(risk.hits, shown, strict=True):
        assert hits <= float(printed.rstrip("%")) / 100 <= hits + 0.0011


def test_groups_are_shown_only_where_asked(pages: dict[str, str], learned_run: Run) -> None:
    (table,) = parse(pages["learned"]).of_class("groups")
    names = [row.all("th")[0].text for row in table.all("tr")[1:]]
    assert names == ["east", "north", "south", "all"]
    questions = [int(row.all("td")[0].text) for row in table.all("tr")[1:]]
    assert sum(questions[:-1]) == questions[-1] == 200
    assert parse(pages["aggregated"]).of_class("groups") == []
    assert "north" not in pages["aggregated"]


def test_the_reference_without_privacy_is_shown_only_if_handed_over(
    learned_run: Run, evaluation: Evaluation
) -> None:
    with_reference = render(full(learned_run, evaluation))
    without = render(full(learned_run, replace(evaluation, reference=None)))
    assert "91.2%" in with_reference
    assert "without privacy" in with_reference
    assert "without privacy" not in without
    assert "Not measured" in render(full(learned_run, None))


def test_overspending_is_shouted(learned_run: Run) -> None:
    page = parse(render(learned_run.report(statement=learned_run.statement | {"budget_epsilon": 0.5})))
    assert page.of_class("bad")[0].text == "✗ the budget was exceeded"


def test_assumptions_are_sorted_by_who_sees_to_them(pages: dict[str, str]) -> None:
    section = parse(pages["learned"]).all("section", id="assumptions")[0]
    confirm, checked = ([item.text for item in group.all("li")] for group in section.all("ul"))
    assert (confirm, checked) == (list(PROMISE.assumptions), list(PROMISE.checked))
    assert all(item[0].isupper() and "mapl:" not in item for item in (*confirm, *checked))
    assert any(item.startswith("Every teacher was handed a copy of its own shard only") for item in checked)
    assert any(item.startswith("All records of a person carry the same patient") for item in confirm)
    assert len(parse(pages["aggregated"]).all("section", id="assumptions")[0].all("ul")) == 1


def test_a_released_error_estimate_is_told(pages: dict[str, str], learned_run: Run) -> None:
    rate = learned_run.report().trail.error_rate
    assert rate is not None
    assert 0 < rate < 0.6  # 0.2 and noise of a scale of 0.03
    assert "teachers’ mean error rate" in parse(pages["learned"]).all("section", id="quality")[0].text
    assert "mean error rate" not in pages["aggregated"]


def test_no_folder_and_no_time_of_the_machine(page: str) -> None:
    assert "/home/" not in page
    assert str(Path.cwd()) not in page
    assert not re.search(r"20\d\d-\d\d-\d\d", page)


def test_the_same_report_gives_the_same_page(learned_run: Run, evaluation: Evaluation) -> None:
    assert render(full(learned_run, evaluation)) == render(full(learned_run, evaluation))


def hostile_report(run: Run, text: str) -> Report:
    """Put a text everywhere where a user's text can stand."""
    yes = f"yes{text}".strip()
    names = pa.array([yes if label == "yes" else label for label in run.labels["label"].to_pylist()])
    labels = run.labels.set_column(1, "label", names).append_column(
        f"g{text}", pa.array([text, None] * (run.labels.num_rows // 2))
    )
    words = {"unit": f"u{text}", "adjacency": f"a{text}", "noise": f"n{text}", "in_plain_words": f"w{text}"}
    digests = {"ledger_head": f"h{text}", "plan_digest": f"p{text}", "mapl_version": f"v{text}"}
    stages = [{"name": f"s{text}", "mechanism": text, "epsilon": 0.5, "delta": 0.0}]
    statement = run.statement | words | digests | {"assumptions": [text], "checked": [text], "stages": stages}
    statement |= {"mechanism": f"m{text}", "parameters": {f"k{text}": text}}
    return run.report(
        statement=statement,
        labels=labels,
        classes=("no", yes),
        groups=(f"g{text}",),
        settings={"learner": f"l{text}", "student": f"t{text}", f"c{text}": text},
        evaluation=Evaluation(2, 1, (), reference=0.5, reference_name=f"r{text}"),
    )


def test_hostile_text_stays_text(private_run: Run) -> None:
    page = render(hostile_report(private_run, HOSTILE))
    root = parse(page)
    assert root.all("script") == []
    assert "<script" not in page
    for place in ("yes", "g", "u", "a", "n", "w", "h", "p", "v", "s", "m", "k", "l", "t", "c", "r"):
        assert f"{place}<script>alert('x')" in root.text, f"the text at {place!r} is not shown"
    assert "{{ 7*7 }}" in root.text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.sampled_from("<>&\"'/={}%#!-;:ax \u202e\u00e9\U0001f600"), min_size=1, max_size=30))
def test_no_text_changes_the_structure(private_run: Run, text: str) -> None:
    tags = [e.tag for e in parse(render(hostile_report(private_run, f"x{text}y"))).walk()]
    assert tags == [e.tag for e in parse(render(hostile_report(private_run, "plain"))).walk()]


def test_the_printed_commands_give_the_printed_digests(learned_run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(learned_run.plan))
    (tmp_path / "ledger.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in learned_run.ledger or ()))
    commands = [shlex.split(pre.text) for pre in parse(render(learned_run.report())).all("pre")]
    assert [command[0] for command in commands] == ["python", "python", "mapl"]
    for command, name in zip(commands, ("plan_digest", "ledger_head"), strict=False):
        done = subprocess.run(
            [sys.executable, *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=900
        )
        assert done.stdout.strip() == learned_run.statement[name]
    smaller = ["--queries", "5", "--max-abstentions", "1", "--teachers", "60"]  # the default takes a while
    audited = CliRunner().invoke(app, [*commands[2][1:], *smaller])
    assert audited.exit_code == 0
    assert "within the claim" in audited.stdout


def test_a_report_is_written_once(private_run: Run, seeded_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, private_run.report())
    write_report(path, private_run.report())
    assert path.read_text("utf-8") == render(private_run.report())
    with pytest.raises(InvalidParameter, match="exists and holds something else"):
        write_report(path, seeded_run.report())
    with pytest.raises(InvalidParameter, match="cannot be written"):
        write_report(tmp_path / "absent" / "report.html", private_run.report())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("add-remove", "Whether any one unit was in the private data at all"),
        ("replace-one", "That a unit took part, and how many units there are"),
        ("labels", "Only labels are protected"),
    ],
)
@pytest.mark.parametrize("by", ["plan", "statement"])
def test_kinds_of_neighbours_are_told_apart(learned_run: Run, kind: Adjacency, words: str, by: str) -> None:
    """By the plan's name for them or, without a plan, by the statement's."""
    statement = learned_run.statement | {"ledger_head": None, "plan_digest": None}
    plan = None
    if by == "plan":
        plan = {**(learned_run.plan or {}), "adjacency": kind}
    else:
        statement |= {"adjacency": promise_of(kind, "patient").adjacency, "adjacency_kind": kind}
    report = learned_run.report(statement=statement, plan=plan, ledger=None)
    assert report.guarantee.kind == kind
    assert words in parse(render(report)).all("section", id="protected")[0].text
