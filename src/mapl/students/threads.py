"""How many threads boosting and its like are computed by: one.

Trees note in their file how many there were, which tells how many processors the machine has: nobody released that.
Nor do students gain by more: between steps of microseconds threads only wait for each other, and on a busy machine
they do so for minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Have loops of OpenMP run by the thread that comes to them; products of matrices keep theirs."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="openmp"):
        yield
