"""One side of a replay: everything that somebody without the private half could see of it."""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer.main
import typer.testing
from rich.progress import Progress

from mapl.cli import app, console
from mapl.estimators.guard import guarded

VERBS = typer.main.get_command(app)
WIDTH = 100
SHOWN = 160
"""How much of a differing line is told."""


class Drawn(Progress):
    """A progress bar that is drawn with every step, by a clock that stands still."""

    def __init__(self, *columns: Any, **settings: Any) -> None:
        super().__init__(*columns, **settings, auto_refresh=False, get_time=lambda: 0.0)

    def update(self, *given: Any, **named: Any) -> None:
        super().update(*given, **named, refresh=True)


class Side:
    """Runs verbs in a folder and keeps what they show, by where it was seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: dict[str, bytes] = {}
        self.inputs: set[Path] = set()
        self._runs = 0

    def put(self, name: str, content: bytes) -> Path:
        """Lay an input down; it is not looked at afterwards."""
        path = self.folder / name
        path.write_bytes(content)
        self.inputs.add(path)
        return path

    def mapl(self, *words: Any) -> None:
        """Run a verb, with standard error on a terminal of a fixed width."""
        self._runs += 1
        ran = typer.testing.CliRunner().invoke(app, [str(word) for word in words])
        verb = f"{self._runs}. mapl {words[0]}"
        self.note(f"{verb}: exit code", ran.exit_code)
        self.note(f"{verb}: stdout", ran.stdout)
        self.note(f"{verb}: stderr", ran.stderr)
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            raise ran.exception

    def note(self, where: str, what: Any) -> None:
        """Keep something that can be seen."""
        assert where not in self.seen, where
        self.seen[where] = what if isinstance(what, bytes) else str(what).encode("utf-8", "surrogatepass")

    def look_around(self) -> None:
        """Keep every file that is not in a private half, and was not laid down."""
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            if path.is_file() and "private" not in inside.parts and path not in self.inputs:
                self.note(f"file {inside}", path.read_bytes())


@contextmanager
def watched(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Side]:
    """Lend a side in an emptied folder; warnings and log lines are kept too."""
    for one in folder.iterdir():
        shutil.rmtree(one) if one.is_dir() else one.unlink()
    patch.setenv("COLUMNS", str(WIDTH))
    patch.setenv("TERM", "xterm")
    patch.setattr(typer.testing, "_get_command", lambda app: VERBS)  # made once: that takes longer than most verbs
    patch.setattr(console.err, "_force_terminal", True)
    patch.setattr(console.err, "is_interactive", True)
    patch.setattr(console, "Progress", Drawn)
    patch.setattr(guarded, "FITS", guarded.EarlierFits())  # each side is the first that spends in its process
    side, lines = Side(folder), Lines()
    root = logging.getLogger()
    before = root.level
    root.addHandler(lines)
    root.setLevel(logging.DEBUG)
    # Servers of other tests in this process may have set up mapl's own loggers.
    for name in ("mapl", *(one for one in logging.root.manager.loggerDict if one.startswith("mapl."))):
        own = logging.getLogger(name)
        patch.setattr(own, "disabled", False)
        patch.setattr(own, "propagate", True)
        patch.setattr(own, "level", logging.NOTSET)
        own.manager._clear_cache()  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield side
    finally:
        root.removeHandler(lines)
        root.setLevel(before)
    # Files that are collected late say so at random.
    said = [f"{w.category.__name__}: {w.message}" for w in warned if w.category is not ResourceWarning]
    side.note("warnings", "\n".join(said))
    side.note("log", "\n".join(lines.said))
    side.look_around()


class Lines(logging.Handler):
    """Keeps log lines without their times."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.levelname} {record.name}: {record.getMessage()}")


def difference(one: dict[str, bytes], other: dict[str, bytes]) -> str | None:
    """Tell the first thing that two sides show differently, and its first differing line; None if there is none."""
    if list(one) != list(other):
        alone = sorted(set(one) ^ set(other))
        return f"only one side shows {', '.join(alone[:5])}{_errors(one, other)}"
    for where, shown in one.items():
        if shown != other[where]:
            return f"{where}: {_first_line(shown, other[where])}{_errors(one, other)}"
    return None


def _first_line(one: bytes, other: bytes) -> str:
    try:
        lines, others = one.decode().splitlines(), other.decode().splitlines()
    except UnicodeDecodeError:
        place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), "the last")
        return f"byte {place} of {len(one)} and {len(other)}"
    pairs = zip(lines, others, strict=False)
    number, (a, b) = next(
        ((i, pair) for i, pair in enumerate(pairs, start=1) if pair[0] != pair[1]),
        (min(len(lines), len(others)) + 1, (f"{len(lines)} lines", f"{len(others)} lines")),
    )
    return f"line {number}: {a[:SHOWN]!r} and {b[:SHOWN]!r}"


def _errors(one: dict[str, bytes], other: dict[str, bytes]) -> str:
    """Add the words of a verb or an estimator that failed on one side, which mostly explain the rest."""
    for where in sorted({*one, *other}):
        if where.endswith(("stderr", "refused")) and one.get(where) != other.get(where):
            words = [side.get(where, b"").decode("utf-8", "replace")[-2 * SHOWN :] for side in (one, other)]
            return f"; {where}: {words[0]!r} and {words[1]!r}"
    return ""
