"""What the documentation names is there: files, folders, modules, functions and classes in backticks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mapl"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
BASES = (ROOT, ROOT / "src", SOURCE)
"""Paths begin in one of these folders."""
TOP = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
"""Packages and modules that stand in mapl itself."""
PLACES = {"src", "mapl", "tests", "docs", "benchmarks", "examples", "deploy"} | TOP
STEM = attrgetter("stem")
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.stem != "__init__")
FILES_OF = {stem: list(paths) for stem, paths in groupby(sorted(MODULES, key=STEM), key=STEM)}
"""By their last names, the files of all modules of mapl."""
FILES = {"csv", "html", "json", "jsonl", "md", "npy", "npz", "parquet", "py", "skops", "sqlite", "toml", "zip"}
"""What files of a run end in: `report.html` is no attribute of a package."""
NO_PLACES = {"queue.py", "answers.example.org", "teachers/ridge", "teachers/hgb"}
"""What looks like a place of mapl and is none: a user's file, a host, methods with their students."""

ROOMS = [path.parent.relative_to(SOURCE) for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE]

QUOTED = re.compile(r"`([^`\n]+)`")
WORD = re.compile(r"[\w./*-]+")
DOTTED = re.compile(r"[a-z]\w*(?:\.\w+)+")
PLACE_AND_NAMES = re.compile(r"(\S+\.py): (\w[\w.]*(?:, \w[\w.]*)*)")
IMPORTED = re.compile(r"^ *from (mapl[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def missing(page: str) -> Iterator[str]:
    """Yield what a page names and is not there. A file without a folder is in one that the page named before."""
    folders = {SOURCE}
    for quoted in QUOTED.findall(page):
        for word in WORD.findall(quoted):
            if word in NO_PLACES:
                continue
            if "/" in word and (word.endswith(".py") or word.partition("/")[0] in PLACES):
                found = [path for base in BASES for path in base.glob(word.rstrip("/"))]
                folders.update(path if path.is_dir() else path.parent for path in found)
                if not found:
                    yield word
            elif word.endswith(".py") and "/" not in word:
                if not any((folder / word).exists() for folder in folders):
                    yield word
            elif DOTTED.fullmatch(word) and word.rpartition(".")[2] not in FILES and not resolves(word):
                yield word
        if names := PLACE_AND_NAMES.fullmatch(quoted):
            yield from missing_names(names[1], names[2].split(", "), folders)
    for module, names in IMPORTED.findall(page):
        yield from (f"{module}.{name}" for name in names.split(", ") if not resolves(f"{module}.{name}"))


def missing_names(place: str, names: list[str], folders: set[Path]) -> Iterator[str]:
    """Yield the names that a file does not have; tests may be named by how their names begin."""
    for path in (base / place for base in (*BASES, *folders) if (base / place).exists()):
        if path.is_relative_to(SOURCE):
            yield from (f"{place}: {name}" for name in names if not has(path, name.split(".")))
        else:
            yield from (f"{place}: {name}" for name in names if f"def {name}" not in path.read_text())
        return


def resolves(name: str) -> bool:
    """Tell whether a dotted name is of nobody in mapl, or is a module of it, or something in one.

    A name may begin with ``mapl``, with a package, or with the last name of a module. One that begins with the last
    name of a module may also be of a value of one of its classes: `coins.flip`.
    """
    first, *rest = name.split(".")
    if first == "mapl":
        return has(SOURCE, rest)
    if first in TOP and has(SOURCE, [first, *rest]):
        return True
    files = FILES_OF.get(first, [])
    of_values = [[kind, *rest] for path in files for kind, members in written_in(path).items() if members]
    if any(in_writing(path, names) for path in files for names in (rest, *of_values)):
        return True
    return any(has(path, rest) for path in files) or (first not in TOP and not files)


def has(place: Path, names: list[str]) -> bool:
    """Tell whether a package or a module has something of this name; where it is not written there, import it."""
    if not names:
        return True
    if place.is_dir():
        inner = (place / names[0], place / f"{names[0]}.py")
        if any(has(path, names[1:]) for path in inner if path.is_file() or (path / "__init__.py").exists()):
            return True
        if (home := taken_from(place).get(names[0])) is not None and resolves(f"{home}.{'.'.join(names)}"):
            return True
    elif in_writing(place, names):
        return True
    found: Any = import_module(".".join(place.relative_to(SOURCE.parent).parts).removesuffix(".py"))
    for name in names:
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def in_writing(file: Path, names: list[str]) -> bool:
    """Tell whether a file defines a name, or a class and a member of it."""
    first, *rest = names
    return first in written_in(file) and (not rest or (len(rest) == 1 and rest[0] in written_in(file)[first]))


@cache
def taken_from(package: Path) -> dict[str, str]:
    """Return the modules from which a package takes what it shows, whether at once or when it is first used."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    taken = [
        one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("mapl.")
    ]
    return {name.name: str(one.module) for one in taken for name in one.names}


@cache
def written_in(file: Path) -> dict[str, set[str]]:
    """Return what a file defines by itself, and of classes their members."""
    return {
        name: set(_members(one)) for one in ast.parse(file.read_text(encoding="utf-8")).body for name in _names(one)
    }


def _names(one: ast.stmt) -> list[str]:
    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [one.name]
    targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _members(one: ast.stmt) -> list[str]:
    return [name for member in one.body for name in _names(member)] if isinstance(one, ast.ClassDef) else []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_named_is_there(page: Path) -> None:
    assert not list(missing(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "right",
    [
        "`release.loop.step`, `planning.rules.cells`, `mapl.students.load`, `mapl.SystemCoins`, `types.Tallies`",
        "`chain.follow`, `coins.flip(rungs.at(d))`, `release.spend`",
        "`src/mapl/release/`, `mapl/release/loop.py`, `spend.py`, `tests/conftest.py`, `tests/mutants/*.py`",
        "`release/loop.py: step, Released.answered`, `tests/test_docs_places.py: test_what`",
        "`report.html`, `private/continued.jsonl`, `/v1/answers`, `numpy.array_split`, `plan.json`",
        "```python\nfrom mapl.release import Named, answer\n```",
    ],
)
def test_what_is_there_may_be_named(right: str) -> None:
    assert not list(missing(right))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ("A `release.loop.leap`.", "release.loop.leap"),
        ("A `planning.rules.sells`.", "planning.rules.sells"),
        ("A `mapl.students.lode`.", "mapl.students.lode"),
        ("A `mapl.PublicClassifier`.", "mapl.PublicClassifier"),
        ("A `release.loop.Released.asked`.", "release.loop.Released.asked"),
        ("A `chain.following`.", "chain.following"),
        ("A `release/leap.py`.", "release/leap.py"),
        ("A `nowhere/loop.py`.", "nowhere/loop.py"),
        ("A `mapl/nowhere/`.", "mapl/nowhere/"),
        ("A `src/mapl/loop.py`.", "src/mapl/loop.py"),
        ("A `tests/test_nothing.py`.", "tests/test_nothing.py"),
        ("A `tests/nothing_*.py`.", "tests/nothing_*.py"),
        ("A `loop.py`.", "loop.py"),
        ("A `release/spend.py` and a `leader.py`.", "leader.py"),
        ("A `release/loop.py: step, leap`.", "release/loop.py: leap"),
        ("A `tests/test_docs_places.py: test_nothing`.", "tests/test_docs_places.py: test_nothing"),
        ("```python\nfrom mapl.release import Named, Unnamed\n```", "mapl.release.Unnamed"),
    ],
)
def test_what_is_made_up_is_missed(wrong: str, name: str) -> None:
    assert list(missing(wrong)) == [name]


def test_the_plan_of_the_house_names_every_room() -> None:
    """Under the room that it is in."""
    plan = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("```")[1]
    parts = re.split(r"^  (?=\w)", plan, flags=re.MULTILINE)
    said = {part.partition("/")[0]: set(re.findall(r"(\w+)/", part)) for part in parts}
    assert len(ROOMS) > 100
    assert [str(room) for room in ROOMS if room.name not in said.get(room.parts[0], ())] == []
