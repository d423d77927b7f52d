"""The page in a real browser: asked by keyboard alone, renewed by itself, whole on wide and narrow screens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_in import Served, StandInRun, serving

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

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; Debian has it as a package")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(StandInRun(abstentions=100)) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the test extra")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(params=[1280, 390])
def page(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": request.param, "height": 900})
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
    # A key that was refused is told with 401, which browsers note as an error; anything else is one.
    assert [words for words in complaints if "401" not in words] == []


def sign_in(page: Any, served: Served, *scopes: str) -> None:
    page.goto(served.url)
    page.wait_for_function("document.activeElement?.id === 'key'")  # the field has the focus by itself
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
    page.wait_for_function(f"document.querySelector('.gauges').innerText.includes('{before + 1} of 200')")
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
    page.get_by_role("button", name="Revoke Ward 7").last.click()
    page.wait_for_selector("tr.revoked")
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
