"""``mapl`` in processes of their own that can be killed at any moment."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any


def started(arguments: list[Any], folder: Path) -> BaseProcess:
    """Start the command line in a folder; what takes long to import is imported once for all processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["mapl.cli", "mapl.pipeline.learn", "mapl.report", "pandas", "riskcal", "skops.io"]
    )
    process = context.Process(target=_command_line, args=([str(one) for one in arguments], folder))
    process.start()
    return process


def _command_line(arguments: list[str], folder: Path) -> None:
    from mapl.__main__ import main
    from mapl.teachers import engine

    engine.SECONDS_BETWEEN_CHECKPOINTS = 0.0
    os.chdir(folder)
    os.environ["TMPDIR"] = str(folder)  # nobody tidies up after a process that was killed
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.argv = ["mapl", *arguments]
    try:
        main()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))  # a child of multiprocessing would wait for workers that wait for it
