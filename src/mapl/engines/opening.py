"""Opening clusters: once for a process, and used again by whatever it computes next."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress

from mapl.engines.address import DASK, LOCAL, EngineAddress
from mapl.engines.cluster import Cluster

_open: dict[tuple[int, EngineAddress, int], Cluster] = {}


def open_cluster(engine: str, n: int) -> Cluster | None:
    """Return the workers of an engine, None for the local one, which needs none.

    Parameters
    ----------
    engine
        As `EngineAddress.parse` reads it.
    n
        How many processes to start, where there is no address of a running cluster.
    """
    address = EngineAddress.parse(engine)
    if address.engine == LOCAL:
        return None
    key = (os.getpid(), address, n if address.where is None else 0)
    known = _open.get(key)
    if known is not None and known.is_open:
        return known
    _open[key] = _connect(address, n)
    return _open[key]


def close_clusters() -> None:
    """Leave all clusters, and end those that were started here."""
    while _open:
        (pid, *_), cluster = _open.popitem()
        if pid == os.getpid():
            with suppress(Exception):
                cluster.close()


def _connect(address: EngineAddress, n: int) -> Cluster:
    if address.engine == DASK:
        from mapl.engines.dask_cluster import DaskCluster

        return DaskCluster(address, n)
    from mapl.engines.ray_cluster import RayCluster

    return RayCluster(address, n)


atexit.register(close_clusters)
