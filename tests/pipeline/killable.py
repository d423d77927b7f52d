"""``mapl`` in processes that die by ``kill -9``: struck from outside, or by themselves at a chosen moment.

How far a process has come when a blow from outside hits it is a matter of luck, and of how busy the machine is. A
test that asserts where a run was killed lets it strike itself, at the first thing it does after something happened.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from mapl.release.ledger.sqlite import SqliteLedger

PATIENCE = 900.0


def started(arguments: list[Any], folder: Path, *, dies: Path | int | None = None) -> BaseProcess:
    """Start the command line in a folder; what takes long to import is imported once for all processes.

    It dies as soon as the file `dies` is there, or when its ledger has so many entries; by default not of itself.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mapl.cli", "mapl.pipeline.learn", "mapl.report", "pandas", "skops.io"])
    process = context.Process(target=_command_line, args=([str(one) for one in arguments], folder, dies))
    process.start()
    return process


def ended(arguments: list[Any], folder: Path, *, dies: Path | int | None = None) -> int | None:
    """Start the command line, wait for its end, and return the exit code: -9 if it was killed."""
    process = started(arguments, folder, dies=dies)
    process.join(PATIENCE)
    return process.exitcode


def _command_line(arguments: list[str], folder: Path, dies: Path | int | None) -> None:
    from mapl.__main__ import main
    from mapl.teachers import engine

    engine.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    os.chdir(folder)
    os.environ["TMPDIR"] = str(folder)  # nobody tidies up after a process that was killed
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.argv = ["mapl", *arguments]
    if isinstance(dies, Path):
        _die_at_file(dies)
    elif dies is not None:
        _die_after_entries(dies)
    try:
        main()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))  # a child of multiprocessing would wait for workers that wait for it


def _die_at_file(path: Path) -> None:
    """Whatever opens, imports or renames is audited; the first such step that finds the file is the last."""
    own, name = os.getpid(), os.fspath(path)

    def strike(event: str, given: tuple[Any, ...]) -> None:
        if event != "os.kill" and os.getpid() == own and os.path.exists(name):  # the blow is audited as well
            os.kill(own, signal.SIGKILL)

    sys.addaudithook(strike)


def _die_after_entries(number: int) -> None:
    real = SqliteLedger.append

    def append(self: SqliteLedger, *given: Any, **named: Any) -> None:
        real(self, *given, **named)
        if len(self.entries()) >= number:
            os.kill(os.getpid(), signal.SIGKILL)

    SqliteLedger.append = append  # type: ignore[method-assign]
