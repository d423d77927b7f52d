"""The walk of `docs/architecture.md` is followed by a trace of a real run, stop by stop.

Nobody has to come back on the way: where a function that was made inside another one is handed on and called from a
later file, a reader has to return to where it was made. The few that are left are named here with their reason.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import mapl

SOURCE = Path(mapl.__file__).parent
PAGE = Path(__file__).parents[1] / "docs/architecture.md"
MOST_FILES = 25

STOP = re.compile(r"^\d+\. `(?P<file>[\w/]+\.py)` `(?P<function>[\w.]+)`")

DOORS = ("__main__.py", "cli/__init__.py", "cli/console.py", "cli/dialect/settings_file.py", "parameters.py")
"""Through these every command comes in: words become options, an error becomes a message."""

ALLOWED = {
    ("cli/console.py", "progress_of.<locals>.shown"): "a bar on the terminal, which every stage moves",
    ("release/loop.py", "_begin.<locals>.<lambda>"): "draws a first secret only where the ledger has none",
    ("report/pages/environment.py", "make_environment.<locals>.<lambda>"): "filters that templates know by name",
}
"""Functions made inside others that are called from another file, and why."""

TRACER = '''
import json, sys
from mapl.__main__ import main

ROOT, OUT, *WORDS = sys.argv[1:]
stops = {tuple(one) for one in json.loads(sys.stdin.read())}
calls, returns = [], {}
UNNAMED = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")

def inside(frame):
    """The nearest callers within the package, the first one first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT) and frame.f_code.co_name != "<module>":
            yield frame.f_code.co_filename[len(ROOT):]
        frame = frame.f_back

def look(frame, event, argument):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(ROOT):
        return
    file = code.co_filename[len(ROOT):]
    if (file, code.co_qualname) in stops:
        calls.append([file, code.co_qualname, list(inside(frame.f_back))])
    if "<locals>" in code.co_qualname and code.co_name not in UNNAMED:
        caller = next(inside(frame.f_back), file)
        if caller != file:
            returns.setdefault(json.dumps([file, code.co_qualname]), caller)

sys.argv[1:] = WORDS
sys.setprofile(look)
try:
    main()
except SystemExit as end:
    if end.code:
        raise
finally:
    sys.setprofile(None)
with open(OUT, "w") as told:
    json.dump({"calls": calls, "returns": [[*json.loads(one), caller] for one, caller in returns.items()]}, told)
'''


@dataclass(frozen=True)
class Stop:
    file: str
    function: str


def walk() -> list[Stop]:
    """Return the stops that the page lists, in its order."""
    found = [STOP.match(line) for line in PAGE.read_text(encoding="utf-8").splitlines()]
    return [Stop(one["file"], one["function"]) for one in found if one is not None]


@dataclass(frozen=True)
class Trace:
    told: dict[str, Any]

    @cached_property
    def passed(self) -> list[tuple[Stop, list[str]]]:
        """What of the walk was come by in order, each stop after the one before, and the files on the way there."""
        calls = iter(self.told["calls"])
        found = []
        for stop in walk():
            for file, function, on_the_way in calls:
                if (file, function) == (stop.file, stop.function):
                    found.append((stop, on_the_way))
                    break
        return found


@pytest.fixture(scope="module")
def trace(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("walk")
    out = folder / "trace.json"
    words = [str(one) for one in clinic.arguments("--method", "teachers")]
    subprocess.run(
        [sys.executable, "-c", TRACER, f"{SOURCE}{os.sep}", str(out), *words],
        input=json.dumps([[stop.file, stop.function] for stop in walk()]),
        text=True,
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return Trace(json.loads(out.read_text(encoding="utf-8")))


def test_the_walk_is_short_and_passes_no_file_twice() -> None:
    files = [stop.file for stop in walk()]
    assert 15 <= len(files) <= MOST_FILES
    assert len(set(files)) == len(files)


def test_a_run_passes_every_stop_in_the_order_of_the_page(trace: Trace) -> None:
    assert [stop for stop, _ in trace.passed] == walk()


def test_only_files_of_the_walk_lie_on_the_way_to_a_stop(trace: Trace) -> None:
    known = {stop.file for stop in walk()}.union(DOORS)
    left_out = {(stop.file, file) for stop, on_the_way in trace.passed for file in on_the_way if file not in known}
    assert not left_out, "name these on the page, or call the stop from a file that is named"


def test_no_stop_is_called_by_a_file_that_comes_after_it(trace: Trace) -> None:
    place = {stop.file: number for number, stop in enumerate(walk())}
    backward = [
        (stop.file, way[0]) for stop, way in trace.passed if way and place.get(way[0], -1) > place[stop.file]
    ]
    assert not backward


def test_nothing_comes_back_to_a_function_that_was_made_inside_another(trace: Trace) -> None:
    returns = {(file, function): caller for file, function, caller in trace.told["returns"]}
    assert {one: caller for one, caller in returns.items() if one not in ALLOWED} == {}
    assert set(ALLOWED) == set(returns), "what is allowed and no longer there is taken off the list"
