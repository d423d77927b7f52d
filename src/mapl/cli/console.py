"""What the verbs share: where they print, and how errors become messages and exit codes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from mapl.cli.dialect.complaints import say_what_was_given
from mapl.cli.dialect.spelling import COMMAND_LINE
from mapl.errors import BudgetExhausted, MaplError
from mapl.parameters import speaking

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

OWN_ERROR, BAD_INPUT, EXHAUSTED, INTERRUPTED = 1, 2, 3, 130

LONG_WORK = 200_000
"""Questions; a run over fewer is over before a progress bar is read."""


def tell(message: str) -> None:
    """Print a message for people on standard error."""
    err.print(message, soft_wrap=True)


def warn(words: str) -> None:
    """Print what a user should think about, on standard error."""
    tell(f"mapl: warning: {words}")


ENDINGS: list[Callable[[], None]] = []


def at_end(action: Callable[[], None]) -> None:
    """Do something when the command ends, however it does."""
    ENDINGS.append(action)


class Refusals(TyperGroup):
    """A group of verbs at which errors end: a message on standard error, an exit code, no traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with speaking(COMMAND_LINE):
                return self._invoke(ctx)
        finally:
            while ENDINGS:
                ENDINGS.pop()()

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MaplError as error:
            tell(f"mapl: {error}")
            raise typer.Exit(EXHAUSTED if isinstance(error, BudgetExhausted) else BAD_INPUT) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            tell(
                f"mapl: the system refused ({error.strerror or type(error).__name__}). Check names, permissions "
                "and free space; where a statement.json was written, the budget is spent and the result beside it."
            )
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            tell("mapl: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            # Exit, Abort, a closed pipe and the parser's own complaints belong to typer.
            if isinstance(error, (typer.Exit, typer.Abort, BrokenPipeError)) or hasattr(error, "exit_code"):
                say_what_was_given(error)
                raise
            if "MAPL_DEBUG" in os.environ:
                raise
            tell(f"mapl: {_own_error(error)}")
            raise typer.Exit(OWN_ERROR) from None


def _own_error(error: Exception) -> str:
    """Say where mapl failed without repeating the error's words, which may quote private values."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this is a fault of mapl ({type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}); "
        "please report it. Set MAPL_DEBUG=1 to see the whole traceback; it may contain private values, so do not "
        "share it."
    )


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar for long work on a terminal; yield what to call with the number done so far."""
    if not err.is_terminal or total < LONG_WORK:
        yield None
        return
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def progress_of(*, quiet: bool) -> Callable[[str, int], AbstractContextManager[Callable[[int], None] | None]]:
    """Return what shows work of named steps with the time left, on a terminal, unless it is to be quiet."""

    @contextmanager
    def shown(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
        if quiet or not err.is_terminal:
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)

    return shown
