"""What a server needs beyond mapl itself, said before anything is opened."""

from __future__ import annotations

from importlib.util import find_spec

from mapl.errors import InvalidParameter

NEEDED = ("fastapi", "uvicorn", "uvloop", "httptools", "orjson", "httpx", "prometheus_client")


def service_extra(what: str) -> None:
    """Refuse where packages of the extra ``serve`` are missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InvalidParameter(f"{what} need {', '.join(missing)}, not installed here: pip install 'mapl[serve]'.")
