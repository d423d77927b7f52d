"""The console entry point: ``mapl`` or ``python -m mapl``."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from mapl.import_path import put_current_folder_last

RESTFUL = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}
"""What has threads of linear algebra and of trees sleep while they have nothing to do.

By default they turn round and round for milliseconds after every product, which took half of a run's computing. How
many threads there are, and with it every bit that they compute, stays as it is.
"""

NEW_OBJECTS = 10_000
"""How many new objects there may be before Python looks for garbage among them, instead of 700.

Loading libraries makes hundreds of thousands of objects that all stay; looking through them took up to 7% of a run.
"""


def main() -> None:
    """Load the command line and run it; an interrupt while loading is as quiet as one while running."""
    put_current_folder_last()
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)  # what ends with the process is not looked through once more for garbage
    for name, value in RESTFUL.items():  # read when the libraries are loaded, which is later
        os.environ.setdefault(name, value)
    try:
        from mapl.cli import main as run
    except KeyboardInterrupt:
        print("mapl: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
