"""Write docs/commands.md and docs/lists.md from the code: what can be typed, set, called, and go wrong.

python docs/reference_pages.py      # a test fails where the pages are no longer what this writes
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from mapl import errors
from mapl.cli.verbs import ROOMS, command_of
from mapl.mechanisms import REGISTRY
from mapl.service.app import ROUTES
from mapl.service.problem import ProblemKind
from mapl.service.settings import ServerSettings

HERE = Path(__file__).parent
NOTE = "*Written by `docs/reference_pages.py` from the code.*"


def commands_page() -> str:
    """Return the page of all verbs with their arguments and options, as their own help has them."""
    parts = [
        "# Commands and options",
        "Every verb of the command line with all its options: to look things up. For a first run take "
        "[start](start.md).",
        f"{NOTE} `mapl VERB --help` shows the same. Options may also stand in a file: `mapl learn run.toml` "
        "([how](learn.md#a-run-that-is-written-down)).",
    ]
    for room in ROOMS.values():
        parts.append(f"## {room.panel}")
        for verb in room.verbs:
            parts += _command(command_of(verb), verb)
    return "\n\n".join(parts) + "\n"


def _command(command: Any, name: str, level: int = 3) -> Iterator[str]:
    yield f"{'#' * level} mapl {name}"
    yield _plain(inspect.cleandoc(command.help or ""))
    if hasattr(command, "list_commands"):
        for inner in command.list_commands(None):
            yield from _command(command.get_command(None, inner), f"{name} {inner}", level + 1)
        return
    lines = [_line(one) for one in command.params if one.name != "help" and not getattr(one, "hidden", False)]
    if lines:
        yield "\n".join(["| | about | what it is |", "|---|---|---|", *lines])


def _line(one: Any) -> str:
    if one.param_type_name == "argument":
        name, panel = f"`{(one.metavar or one.name).strip('{}[]').upper()}`", "argument"
    else:
        name, panel = ", ".join(f"`{spelled}`" for spelled in (*one.opts, *one.secondary_opts)), one.rich_help_panel
    said = _plain(" ".join((one.help or "").split()))
    if one.required:
        said += " **Required.**"
    elif default := _default(one):
        said += f" Default: {default}."
    return f"| {name} | {panel} | {said} |"


def _default(one: Any) -> str:
    """Return a default in words, or nothing where it is nothing."""
    if isinstance(one.show_default, str):
        return one.show_default
    value = one.default
    if value is None or value is False or value is ... or value in ((), [], "") or not one.show_default:
        return ""
    if one.secondary_opts:
        return f"`{one.opts[0] if value else one.secondary_opts[0]}`"
    values = value if isinstance(value, tuple | list) else (value,)
    return "`" + ", ".join(str(getattr(each, "value", each)) for each in values) + "`"


def _plain(words: str) -> str:
    """Return words that mean in Markdown what they mean in a terminal."""
    words = re.sub(r"``(.*?)``", r"`\1`", words)
    parts = re.split(r"(`[^`]*`)", words)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts).replace("|", "\\|")


def _escaped(words: str) -> str:
    return re.sub(r"([*<\[])", r"\\\1", words)


def lists_page() -> str:
    """Return the page of mechanisms, routes, problems, settings and errors."""
    return "\n\n".join(
        [
            "# Mechanisms, routes, settings, errors",
            "What can be chosen, called, set and caught, in tables: to look things up.",
            NOTE,
            "## Mechanisms",
            "`--mechanism NAME`; settings are options such as `--max-abstentions`, in Python `settings={...}`. "
            "Which one to take: [mechanisms](mechanisms.md); why to believe it: [proofs](proofs/README.md).",
            _table(("name", "what it does", "classes", "settings"), _mechanisms()),
            "## Routes of a server",
            "What each does, and what replies look like: [operate](operate.md#from-a-table-to-a-server). A key "
            "needs one of the scopes.",
            _table(("route", "scopes"), ((f"`{m} {p}`", ", ".join(s) or "none") for m, p, _, s in ROUTES)),
            "## Problems that a server tells",
            "Errors are `application/problem+json`; their `type` ends in the name.",
            _table(("name", "status", "meaning"), ((f"`{one.name}`", one.status, one.title) for one in problems())),
            "## Settings of a server",
            "In Python `ServerSettings`; some are options of [mapl serve](commands.md#mapl-serve).",
            _table(("setting", "default", "meaning"), _settings()),
            "## Errors and warnings in Python",
            "All are imported from `mapl`. On the command line they are one line and a nonzero exit code.",
            _table(("name", "is a", "when"), _errors()),
        ]
    ) + "\n"  # fmt: skip


def _table(heads: tuple[str, ...], rows: Any) -> str:
    cells = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in cells)


def _mechanisms() -> Iterator[tuple[str, ...]]:
    for name, one in REGISTRY.items():
        classes = "any" if one.classes is None else ", ".join(map(str, one.classes))
        yield f"`{name}`", one.summary, classes, ", ".join(f"`{each}`" for each in one.settings) or "none"


def problems() -> list[ProblemKind]:
    """Return all kinds of problems that a server has a name for."""
    from mapl.service import problem

    return [one for one in vars(problem).values() if isinstance(one, ProblemKind)]


def _settings() -> Iterator[tuple[str, ...]]:
    said = _meanings(inspect.getdoc(ServerSettings) or "")
    for field in fields(ServerSettings):
        shown = "none" if field.default in ((), None) else f"`{field.default}`"
        yield f"`{field.name}`", shown, said[field.name]


def _meanings(docstring: str) -> dict[str, str]:
    """Return what a docstring says of each parameter; several may share a paragraph."""
    body = docstring.partition("----------\n")[2]
    found = re.findall(r"^(\w[\w, ]*)\n((?:    .*\n?)+)", body, re.MULTILINE)
    return {name: " ".join(said.split()) for names, said in found for name in names.split(", ")}


def _errors() -> Iterator[tuple[str, ...]]:
    own = [one for one in vars(errors).values() if isinstance(one, type) and one.__module__ == errors.__name__]
    for one in own:
        bases = ", ".join(f"`{base.__name__}`" for base in one.__bases__)
        yield f"`{one.__name__}`", bases, _plain(" ".join(_first(one).split()))


def _first(one: type) -> str:
    """Return the first paragraph of a docstring."""
    return (inspect.getdoc(one) or "").partition("\n\n")[0]


PAGES = {HERE / "commands.md": commands_page, HERE / "lists.md": lists_page}


if __name__ == "__main__":
    for path, text in PAGES.items():
        path.write_text(text(), "utf-8")
