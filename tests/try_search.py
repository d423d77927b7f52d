"""Type every option of every verb into the search of the site, in a browser: it has to lead to the page of options.

python tests/try_search.py FOLDER, where `make docs` has left the site; `make docs` calls this. Without a browser or
playwright it says that it skips, as the tests of the server's page do.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAGE = "docs/commands.html"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
PATIENCE = 90_000
"""Milliseconds, of which an option that is found takes a few: only one that is not found waits so long."""

LINKS = '[...document.querySelectorAll(".md-search-result__link")]'
FOUND = f"""page => {{
  const list = document.querySelector(".md-search__scrollwrap")
  list.scrollTop = list.scrollHeight  // there are more below
  return {LINKS}.some(link => new URL(link.href).pathname.endsWith(page))
}}"""


class Silent(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder to this machine for a while."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def options() -> list[str]:
    """Return every option of every verb, once."""
    from mapl.cli.verbs import VERBS, command_of

    found: set[str] = set()
    for verb in VERBS:
        command = command_of(verb)
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        for one in [command.get_command(None, each) for each in inner] or [command]:
            found |= {name for param in one.params for name in (*param.opts, *param.secondary_opts)}
    return sorted(name for name in found if name.startswith("--") and name != "--help")


def look_for(page: Any, typed: str, shown: str) -> None:
    """Type something into the search, and wait until it shows what it should."""
    box = page.locator(".md-search__input")
    box.fill(typed)
    box.press("End")  # the search listens to keys
    page.wait_for_function(shown, arg=PAGE, timeout=PATIENCE)


def main() -> None:
    """Look for all of them, and name those that are not found."""
    folder, browser = Path(sys.argv[1]), shutil.which("chromium")
    try:
        from playwright.sync_api import TimeoutError as TooLong
        from playwright.sync_api import sync_playwright

        wanted = options()
    except ImportError:
        browser = None
    if browser is None:
        print("The site's search was not tried: that takes chromium, and what `make test` installs.")
        return
    lost = None
    with serving(folder) as address, sync_playwright() as driver:
        window = driver.chromium.launch(executable_path=browser, args=list(FLAGS))
        page = window.new_page()
        page.goto(f"{address}/index.html")
        page.locator(".md-search__input").click()
        for option in wanted:
            try:
                look_for(page, "", f"() => {LINKS}.length === 0")
                look_for(page, option, FOUND)
            except TooLong:
                lost = option
                break
        window.close()
    if lost is not None:
        sys.exit(f"The site's search does not lead from {lost} to {PAGE}.")
    print(f"The site's search finds all {len(wanted)} options.")


if __name__ == "__main__":
    main()
