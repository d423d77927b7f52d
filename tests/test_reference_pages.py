"""Whatever can be typed, set, called or caught is documented; pages that are written from the code are current."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

import mapl
from mapl import errors
from mapl.cli.verbs import VERBS, command_of
from mapl.service.app import ROUTES

DOCS = Path(__file__).parent.parent / "docs"
WRITER = runpy.run_path(str(DOCS / "reference_pages.py"))
ONE_EACH = runpy.run_path(str(DOCS / "site_docstrings.py"))["one_each"]
SHARED = re.compile(r"^(\w+(?:, \w+)+)(?: : .*)?\n    ", re.MULTILINE)
REFERENCE = (DOCS / "reference.md").read_text("utf-8")


@pytest.mark.parametrize("path", WRITER["PAGES"], ids=lambda path: path.name)
def test_a_page_is_what_the_code_says(path: Path) -> None:
    assert path.read_text("utf-8") == WRITER["PAGES"][path](), "python docs/reference_pages.py writes it anew"


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_on_the_page_of_commands(verb: str) -> None:
    page = (DOCS / "commands.md").read_text("utf-8")
    command = command_of(verb)
    inner = command.list_commands(None) if hasattr(command, "list_commands") else []
    for name, one in [(f"{verb} {each}", command.get_command(None, each)) for each in inner] or [(verb, command)]:
        (part,) = re.findall(rf"^#+ mapl {name}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
        spelled = {each for param in one.params for each in (*param.opts, *param.secondary_opts)}
        assert [each for each in spelled - {"--help"} if each.startswith("-") and f"`{each}`" not in part] == []


@pytest.mark.parametrize("route", [f"{method} {path}" for method, path, _, _ in ROUTES])
def test_every_route_is_in_the_guide_to_operating(route: str) -> None:
    assert route in (DOCS / "operate.md").read_text("utf-8")


@pytest.mark.parametrize("name", [name for name in mapl.__all__ if not hasattr(errors, name)])
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^::: mapl[\w.]*\.{name}$|`{name}`", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("name", [name for name in mapl.__all__ if isinstance(getattr(mapl, name), type)])
def test_no_two_parameters_share_a_line_of_the_reference(name: str) -> None:
    """They would be told with the type and the default of the first: a delta of 1.0."""
    said = inspect.getdoc(getattr(mapl, name)) or ""
    apart = ONE_EACH(said)
    names = [each for line in SHARED.findall(said) for each in line.split(", ")]
    assert [len(re.findall(rf"^{each}(?: : .*)?\n    ", apart, re.MULTILINE)) for each in names] == [1] * len(names)
    assert not SHARED.search(apart)
    assert ONE_EACH(apart) == apart


def test_what_is_said_of_parameters_together_is_said_of_each() -> None:
    """And prose in which words stand side by side is left as it is."""
    head, two = "Do.\n\nred, green\n    blue\n\nParameters\n----------\na\n    One.\n", "    Two.\n\n    Three.\n"
    said = f"{head}b, c : int\n{two}d\n    Four."
    apart = f"{head}b : int\n{two}c : int\n{two}d\n    Four."
    assert ONE_EACH(said) == apart


def test_every_error_is_in_the_reference() -> None:
    assert "\n::: mapl.errors\n" in REFERENCE  # with all that it holds
