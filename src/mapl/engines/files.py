"""What workers of a cluster read: files of the run's private scratch folder, written by the driver."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mapl.engines.cluster import Cluster, Trouble, first_done, result_of, submit_alike
from mapl.errors import MaplError

TASKS_PER_WORKER = 2


def write_down(folder: Path, content: Any) -> Path:
    """Write private things to a new file that only its owner may read."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="part-", dir=folder)
        with open(descriptor, "wb") as file:
            pickle.dump(content, file, protocol=pickle.HIGHEST_PROTOCOL)
    except OSError as failure:
        raise MaplError(
            f"The folder {folder.parent}, which workers of a cluster read from, cannot be written "
            f"({failure.strerror}); free some space. Nothing was spent on this."
        ) from None
    return Path(name)


def read_down(path: Path, *beside: Path) -> Any:
    """Read on a worker what the driver wrote, with files beside it that will be needed.

    Raises
    ------
    Trouble
        If they are not there: a worker that sees other files must not be mistaken for a teacher that failed.
    """
    try:
        for one in beside:
            os.close(os.open(one, os.O_RDONLY))
        content = path.read_bytes()
    except OSError as failure:
        raise Trouble(
            f"a worker cannot read {path.parent} ({failure.strerror}); that folder must be the same, under the "
            "same name and for the same user, on every machine of the cluster: put the run on a shared mount"
        ) from None
    return pickle.loads(content)


@contextmanager
def folder_afar(scratch: Path | None) -> Iterator[Path]:
    """Make a folder for such files in a private one, or where the system has temporary files; remove it again."""
    with tempfile.TemporaryDirectory(prefix="mapl-", dir=scratch, ignore_cleanup_errors=True) as folder:
        yield Path(folder).absolute()


def map_files(
    cluster: Cluster,
    task: Callable[[Any, Any], Any],
    shared: Any,
    files: Iterable[Path],
    folder: Path,
    *,
    keep: bool = False,
) -> Iterator[Any]:
    """Yield, in any order, what a task makes of something that all have in common and of each file.

    Parameters
    ----------
    files
        May be made one by one: no more are asked for than workers are about to need.
    keep
        Whether files are needed again; otherwise each goes when its task is done.
    """
    common, waiting = write_down(folder, shared), iter(files)
    pending: dict[Future[Any], Path] = {}
    try:
        more = True
        while more or pending:
            while more and len(pending) < cluster.n_workers * TASKS_PER_WORKER:
                path = next(waiting, None)
                more = path is not None
                if path is not None:
                    pending[submit_alike(cluster, _work_on, task, common, path)] = path
            for done in first_done(cluster, pending):
                path = pending.pop(done)
                yield result_of(cluster, done)
                if not keep:
                    path.unlink(missing_ok=True)
    finally:
        for one in pending:
            one.cancel()
        common.unlink(missing_ok=True)


def _work_on(task: Callable[[Any, Any], Any], common: Path, path: Path) -> Any:
    return task(read_down(common), read_down(path))
