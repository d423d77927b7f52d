"""What an engine is called: its name, and where it is if it runs already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from mapl.errors import InvalidParameter
from mapl.parameters import spell

LOCAL, DASK, RAY = "local", "dask", "ray"
HERE = "auto"
"""Ray's own word for the cluster that this machine belongs to."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Which engine, and the address of a running one; without it, one is started on this machine.

    Examples
    --------
    >>> EngineAddress.parse("dask://10.0.0.5:8786")
    EngineAddress(engine='dask', where='10.0.0.5:8786')
    >>> EngineAddress.parse("ray").where is None
    True
    """

    engine: str
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``local``, ``dask``, ``ray``, or the last two with ``://`` and an address."""
        if not isinstance(text, str):
            raise InvalidParameter(
                f"The engine is of type {type(text).__name__}; {_allowed()}. Nothing was read or spent."
            )
        engine, colon, where = text.partition("://")
        known = engine in (LOCAL, DASK, RAY)
        if not known or (colon and (engine == LOCAL or not _is_place(engine, where))):
            raise InvalidParameter(f"The engine is {text!r}; {_allowed()}. Nothing was read or spent.")
        return cls(engine, where or None)

    @property
    def host_and_port(self) -> tuple[str, int] | None:
        """Where somebody has to listen; None where an engine is started here, or found by itself."""
        if self.where is None or self.where == HERE:
            return None
        host, _, port = self.where.rpartition("://")[2].rpartition(":")
        return host.strip("[]"), int(port)


def _is_place(engine: str, where: str) -> bool:
    host, _, port = where.rpartition(":")
    if engine == DASK and host.startswith(("tls://", "tcp://")):
        host = host[len("tls://") :]
    plain = bool(host) and not set(host) & set("/@?# ") and port.isascii() and port.isdigit()
    return (plain and 0 < int(port) < 1 << 16) or (engine == RAY and where == HERE)


def _allowed() -> str:
    return (
        f"say with {spell('engine')} local, dask or ray, or where one runs: dask://host:8786, "
        "dask://tls://host:8786, ray://auto or ray://host:10001"
    )
