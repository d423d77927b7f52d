"""The page in a real browser: asked by keyboard alone, renewed by itself, whole on wide and narrow screens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_in import Served, StandInRun, serving

from mapl.errors import LedgerError
from mapl.release.ledger.memory import MemoryLedger

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
SHOTS = os.environ.get("MAPL_SCREENSHOTS")
"""A folder to leave screenshots in, for people to look at."""


class BusyLedger(MemoryLedger):
    """A ledger that cannot be written for a while."""

    busy = False

    def exchange(self, *given: Any, **named: Any) -> Any:
        if self.busy:
            raise LedgerError("the disk is full")
        return super().exchange(*given, **named)


pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; Debian has it as a package")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(StandInRun(abstentions=100), BusyLedger()) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the test extra")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


SCREENS = ((1280, "light"), (390, "dark"))
OTHERS = ((1280, "dark"), (390, "light"))


@pytest.fixture(params=SCREENS, ids=str)
def page(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width, scheme = request.param
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(90_000)  # tests run beside each other on few cores
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    yield page
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{request.node.name}.png", full_page=True)
    context.close()
    # What was refused is told with these statuses, which browsers note as errors; anything else is one.
    told = ["401", "422", "503", "ERR_FAILED", "htmx:"]
    if SHOTS:  # taking one adds a style for a moment, which the policy of the page forbids
        told.append("inline style")
    assert [words for words in complaints if not any(status in words for status in told)] == []


def sign_in(page: Any, served: Served, *scopes: str) -> None:
    page.goto(served.url)
    # Selectors wait without eval, which the policy of the page forbids as soon as a condition is polled again.
    page.wait_for_selector("#key:focus")  # the field has the focus by itself
    page.keyboard.type(served.key(*scopes))
    assert page.input_value("#key") == served.key(*scopes)
    page.keyboard.press("Enter")
    page.wait_for_selector("#budget-title")


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def test_a_question_by_keyboard_alone(page: Any, served: Served) -> None:
    sign_in(page, served, "ask")
    asked = served.ledger.spending("labels")
    before = asked.answered + asked.abstained
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "column-0":
            break
    page.keyboard.type("7")
    page.keyboard.press("Tab")
    page.keyboard.type(f"by keyboard {before}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Ask"
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer .reply")
    assert page.inner_text("#answer strong") == "certainly"
    page.wait_for_selector(f".gauges:has-text('{before + 1} of 200')")
    assert page.url.rstrip("/") == served.url  # a part was renewed, the page stayed
    assert fits(page)


def test_a_wrong_key_is_told_and_the_page_of_a_caller_has_no_keys(page: Any, served: Served) -> None:
    page.goto(served.url)
    page.fill("#key", "mapl_000000000000_wrong")
    page.keyboard.press("Enter")
    assert "unknown or was revoked" in page.inner_text("#refused")
    sign_in(page, served, "ask")
    assert page.query_selector("#keys") is None
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("#key")


def test_an_admin_makes_and_revokes_a_key_and_checks_the_ledger(page: Any, served: Served) -> None:
    sign_in(page, served)
    page.fill("#key-name", "Ward 7")
    page.get_by_role("button", name="Create a key").click()
    page.wait_for_selector(".fresh")
    token = page.inner_text(".fresh code")
    with served.client(token=token) as client:
        assert client.get("/v1/budget").status_code == 200
    page.get_by_role("button", name="Copy").click()
    page.wait_for_selector("[data-copy]:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == token
    assert fits(page)
    gone = page.locator("tr.revoked").count()
    page.get_by_role("button", name="Revoke Ward 7").last.click()
    page.locator("tr.revoked").nth(gone).wait_for()
    page.get_by_role("button", name="Check the whole chain").click()
    page.wait_for_selector("#check .fine")
    assert served.ledger.head in page.inner_text("#check code")
    assert fits(page)


def test_everything_that_takes_input_has_a_name(page: Any, served: Served) -> None:
    sign_in(page, served)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input, select, textarea, button')]
            .filter(one => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
            .map(one => one.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("document.querySelectorAll('h2').length") >= 4


def ask(page: Any, x: str, note: str) -> None:
    page.fill("#column-0", x)
    page.fill("#column-1", note)
    page.get_by_role("button", name="Ask", exact=True).click()


def test_an_answer_goes_when_a_field_is_changed_and_when_the_next_question_fails(page: Any, served: Served) -> None:
    """An answer to A beside the fields of B was taken for the answer to B."""
    sign_in(page, served, "ask")
    note = f"first {page.viewport_size['width']}"
    ask(page, "7", note)
    page.wait_for_selector("#answer .reply strong")
    assert page.inner_text("#answer .asked").split() == ["x", "7", "note", *note.split()]
    page.fill("#column-0", "8")
    assert page.inner_text("#answer").strip() == ""
    served.ledger.busy = True
    try:
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_selector("#answer .refusal")
        assert "cannot be written" in page.inner_text("#answer")
        assert page.query_selector("#answer .reply") is None
    finally:
        served.ledger.busy = False
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector("#answer .reply")
    page.context.clear_cookies()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector("#answer .refusal")
    assert "not signed in" in page.inner_text("#answer")
    assert page.query_selector("#answer .reply") is None
    page.route("**/page/question", lambda route: route.abort())
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector("#answer .refusal:has-text('cannot be reached')")
    assert fits(page)


@pytest.mark.parametrize("page", [*SCREENS, *OTHERS], ids=str, indirect=True)
def test_no_answer_is_no_class_and_the_history_keeps_both_until_the_end_of_the_session(
    page: Any, served: Served
) -> None:
    sign_in(page, served, "ask")
    assert page.is_hidden("#asked")
    ask(page, "0.1", "hard, with <b>marks</b>")
    page.wait_for_selector("#answer .unanswered")
    assert page.query_selector("#answer strong") is None
    ask(page, "-7", "easy")
    page.wait_for_selector("#answer strong")
    page.wait_for_selector("#asked tbody tr:nth-child(2)")
    lines = page.eval_on_selector_all(
        "#asked tbody tr", "rows => rows.map(row => row.innerText.replace(/\\s+/g, ' ').trim())"
    )
    assert lines == ["no x -7, note easy", "No answer x 0.1, note hard, with <b>marks</b>"]
    if SHOTS:
        width, scheme = (
            page.viewport_size["width"],
            page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"),
        )
        page.screenshot(path=Path(SHOTS) / f"history-{width}-{scheme}.png", full_page=True)
    page.reload()
    page.wait_for_selector("#asked tbody tr:nth-child(2)")
    assert page.locator("#asked tbody tr").count() == 2
    assert fits(page)
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("#key")
    sign_in(page, served, "ask")
    assert page.is_hidden("#asked")


def test_a_file_comes_back_with_answers_after_the_cost_was_agreed_to(
    page: Any, served: Served, tmp_path: Path
) -> None:
    sign_in(page, served, "ask")
    csv = tmp_path / "patients.csv"
    csv.write_bytes(
        b'\xef\xbb\xbfx,note,more\r\n9,"file, with\nlines ""quoted""",1\r\n\r\n-9,it is 5" long,2\r\n0.1,nobody,3'
    )
    before = served.ledger.spending("labels")
    page.set_input_files("#file", csv)
    page.wait_for_selector("#file-reply .confirm")
    assert "at most 3" in page.inner_text("#file-reply")
    assert served.ledger.spending("labels") == before
    assert fits(page)
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"confirm-{page.viewport_size['width']}.png", full_page=True)
    page.get_by_role("button", name="Ask all 3 rows").click()
    page.wait_for_selector("#file-reply a")
    with page.expect_download() as saved:
        page.click("#file-reply a")
    assert saved.value.suggested_filename == "patients-answers.csv"
    assert Path(saved.value.path()).read_bytes() == (
        b'x,note,more,answer,status\r\n9,"file, with\nlines ""quoted""",1,certainly,answered\r\n'
        b'-9,it is 5" long,2,no,answered\r\n0.1,nobody,3,,abstained\r\n'
    )
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("x,note\nmany,a\n")
    page.set_input_files("#file", wrong)
    page.wait_for_selector("#file-reply .refusal")
    assert "Row 1: " in page.inner_text("#file-reply")
    assert page.query_selector("#file-reply .confirm") is None


def test_the_report_opens_and_looks_like_one(page: Any, served: Served) -> None:
    sign_in(page, served, "read")
    page.get_by_role("link", name="The report for a privacy officer").click()
    page.wait_for_selector("h1")
    assert page.url.endswith("/page/report")
