"""Where modules are looked for: in the current folder last, so that no file in it stands in for something else.

Imports nothing but what every interpreter has loaded by itself, since it runs before the path is in order.
"""

import os
import sys


class ClosedDoors:
    """Modules that cannot be imported for a while, unless they are there already.

    For libraries that open large ones on their way in, only to see whether they are there. Afterwards these can be
    imported as ever.
    """

    def __init__(self, *names: str) -> None:
        self.names = names
        self.closed: tuple[str, ...] = ()

    def __enter__(self) -> None:
        self.closed = tuple(name for name in self.names if name not in sys.modules)
        sys.modules.update(dict.fromkeys(self.closed))  # type: ignore[arg-type]  # None: it cannot be imported

    def __exit__(self, *failure: object) -> None:
        for name in self.closed:
            sys.modules.pop(name, None)


def put_current_folder_last() -> None:
    """Move the current folder from wherever it is on the path to its end; do nothing where it is not on it.

    ``python -m`` and interactive sessions put it first, where a file called queue.py or numpy.py is taken for the
    real one.
    """
    here = os.path.realpath(os.curdir)
    others = [entry for entry in sys.path if os.path.realpath(entry or os.curdir) != here]
    if len(others) < len(sys.path):
        sys.path[:] = [*others, here]


def search_current_folder_too() -> None:
    """Have modules of the current folder found, after all others."""
    sys.path.append(os.path.realpath(os.curdir))
    put_current_folder_last()
