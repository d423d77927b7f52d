"""Every state of the page on wide and narrow screens, dark and light: it fits, and everything can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_in import Served, StandInRun, serving
from test_page_browser import CHROMIUM, OTHERS, SCREENS, SHOTS, BusyLedger, ask, chromium, fits, page, sign_in

__all__ = ["chromium", "page"]  # fixtures

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; Debian has it as a package")

LEAST = 4.5
"""The contrast of text that WCAG 2 asks for at level AA."""

FAINT = """least => {
    const numbers = color => (color.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const mix = (top, under, a) => [0, 1, 2].map(i => a * top[i] + (1 - a) * under[i]);
    const over = (top, under) => mix(top, under, top[3] ?? 1);
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const behind = one => {
        const layers = [];
        for (let at = one; at; at = at.parentElement) layers.push(numbers(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((under, top) => over(top, under), dark ? [18, 18, 18] : [255, 255, 255]);
    };
    const faint = [];
    for (const one of document.querySelectorAll('body *')) {
        const own = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!own || one.closest('svg') || !one.checkVisibility({visibilityProperty: true})) continue;
        const under = behind(one), text = over(numbers(getComputedStyle(one).color), under);
        const [high, low] = [light(text), light(under)].sort((a, b) => b - a);
        const contrast = (high + 0.05) / (low + 0.05);
        if (contrast < least) faint.push(`${one.tagName} ${contrast.toFixed(2)}: ${one.textContent.trim()}`);
    }
    return faint;
}"""

CUT = """() => [...document.querySelectorAll('button, code, td, th, p, dd, dt, label, h1, h2')]
    .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1
        && !one.closest('.scroll, pre'))
    .map(one => `${one.tagName}: ${one.textContent.trim().slice(0, 40)}`)"""

OUTSIDE = """() => [...document.querySelectorAll('svg path, svg rect')].filter(one => {
    const drawn = one.getBoundingClientRect(), frame = one.closest('svg').getBoundingClientRect();
    return drawn.top < frame.top - 2 || drawn.bottom > frame.bottom + 2 || drawn.right > frame.right + 2;
}).length"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(StandInRun(abstentions=100), BusyLedger()) as running:
        yield running


def looks_right(page: Any, state: str) -> None:
    """Check that nothing is cut off or faint, and leave a picture for people to look at."""
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    if SHOTS:
        name = f"{state}-{page.viewport_size['width']}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=Path(SHOTS) / name, full_page=True)
    assert fits(page), state
    assert page.evaluate(CUT) == [], state
    assert page.evaluate(OUTSIDE) == 0, state
    assert page.evaluate(FAINT, LEAST) == [], state


@pytest.mark.parametrize("page", [*SCREENS, *OTHERS], ids=str, indirect=True)
def test_every_state_can_be_read(page: Any, served: Served, tmp_path: Path) -> None:
    page.goto(served.url)
    page.fill("#key", "mapl_000000000000_wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#refused")
    looks_right(page, "refused")
    sign_in(page, served)
    looks_right(page, "home")
    ask(page, "7", "an easy question with a note that is rather long, as notes of doctors often are, and goes on")
    page.wait_for_selector("#answer .reply strong")
    looks_right(page, "answer")
    ask(page, "0.1", "hard")
    page.wait_for_selector("#answer .unanswered")
    page.wait_for_selector("#asked tbody tr:nth-child(2)")
    looks_right(page, "no-answer-and-history")
    served.ledger.busy = True
    try:
        ask(page, "8", f"fails {page.viewport_size['width']}")
        page.wait_for_selector("#answer .refusal")
    finally:
        served.ledger.busy = False
    looks_right(page, "error")
    csv = tmp_path / "patients.csv"
    csv.write_text("x,note\n9,first\n-9,second\n0.1,nobody\n")
    page.set_input_files("#file", csv)
    page.wait_for_selector("#file-reply .confirm")
    looks_right(page, "confirm")
    page.get_by_role("button", name="Ask all 3 rows").click()
    page.wait_for_selector("#file-reply a")
    looks_right(page, "file")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("x,note\nmany,a\n")
    page.set_input_files("#file", wrong)
    page.wait_for_selector("#file-reply .refusal")
    looks_right(page, "file-refused")
    page.fill("#key-name", "A ward with a long name in the east wing of the hospital")
    page.get_by_role("button", name="Create a key").click()
    page.wait_for_selector(".fresh")
    looks_right(page, "keys")
    gone = page.locator("tr.revoked").count()
    page.get_by_role("button", name="Revoke A ward").last.click()
    page.locator("tr.revoked").nth(gone).wait_for()
    page.get_by_role("button", name="Check the whole chain").click()
    page.wait_for_selector("#check .fine")
    looks_right(page, "revoked-and-checked")
    page.reload()  # with entries about keys at the end of the ledger
    page.wait_for_selector(".timeline")
    looks_right(page, "home-after-keys")
    page.goto(f"{served.url}/docs")
    page.wait_for_selector("h1")
    looks_right(page, "docs")
