"""A name tells the room: no two classes share one, a kind of value is defined once, and no room is a heap."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import mapl

SOURCE = Path(mapl.__file__).parent
MOST_FILES, MOST_LINES = 15, 300


class Names(NamedTuple):
    """What the files of mapl define at their top: classes, kinds of values, and functions with their file."""

    classes: Counter[str]
    aliases: Counter[str]
    functions: list[tuple[str, str]]


@cache
def names_of_all_files() -> Names:
    found = Names(Counter(), Counter(), [])
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.classes[node.name] += 1
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.functions.append((node.name, path.relative_to(SOURCE).as_posix()))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_type(node):
                found.aliases[node.targets[0].id] += 1
    return found


def test_no_two_classes_share_a_name() -> None:
    names = names_of_all_files().classes
    assert [name for name, times in names.items() if times > 1 and not name.startswith("_")] == []


def test_a_kind_of_value_is_defined_once() -> None:
    """And under a name that no other kind of value has."""
    assert [name for name, times in names_of_all_files().aliases.items() if times > 1] == []


def _is_type(node: ast.Assign) -> bool:
    (name,) = [one.id for one in node.targets if isinstance(one, ast.Name)]
    return name[0].isupper() and not name.isupper() and isinstance(node.value, ast.Subscript | ast.BinOp)


VAGUE = {"one_each", "given", "face", "near_names", "described", "mending", "noted_head", "kept_form", "together"}
VAGUE |= {"with_earlier", "utils", "helpers", "common", "manager"}
"""Names that say nothing to whoever does not know already."""


def test_no_name_says_nothing() -> None:
    names = names_of_all_files()
    modules = {path.stem for path in SOURCE.rglob("*.py")}
    assert VAGUE & {*modules, *(name for name, _ in names.functions), *map(str.lower, names.classes)} == set()


PREPOSITIONS = {"as", "at", "away", "by", "for", "from", "in", "of", "on", "out", "to", "up", "with"}
IRREGULAR = {"broken", "built", "chosen", "drawn", "found", "given", "grown", "held", "kept", "known", "left"}
IRREGULAR |= {"made", "said", "seen", "spent", "taken", "told", "written"}
NO_PARTICIPLES = {"ending", "made_up_rows", "nothing_to_learn", "speaking"}
"""The ending of a file, rows, nothing, and a context manager: `with speaking(...)`."""


def test_functions_are_verbs_or_nouns() -> None:
    """`planned`, `drawn_by`: what is made there? `plan_teachers` makes a plan, `measured_rows` are rows."""
    functions = names_of_all_files().functions
    assert [one for one in functions if _is_participle(one[0]) and one[0] not in NO_PARTICIPLES] == []


def _is_participle(name: str) -> bool:
    """Tell whether a public name is a participle that no noun follows."""
    first, *rest = name.split("_")
    participle = (first.endswith(("ed", "ing")) and len(first) > 4) or first in IRREGULAR
    return participle and (not rest or rest[0] in PREPOSITIONS or rest[-1] in PREPOSITIONS)


def test_no_room_is_a_heap() -> None:
    files = [path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    rooms = Counter(path.parent.as_posix() for path in files)
    assert {room for room, files in rooms.items() if files > MOST_FILES} == set()


def test_no_file_holds_two_ideas() -> None:
    """Past so many lines there usually are two."""
    lines = {
        path.relative_to(SOURCE).as_posix(): path.read_text("utf-8").count("\n") for path in SOURCE.rglob("*.py")
    }
    assert {path: n for path, n in lines.items() if n > MOST_LINES} == {}
