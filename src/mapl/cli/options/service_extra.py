"""What a server needs beyond mapl itself, said before anything is opened."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from mapl.errors import InvalidParameter

NEEDED = (
    *("fastapi", "uvicorn", "httptools", "orjson", "httpx", "prometheus_client"),
    *(() if sys.platform == "win32" else ("uvloop",)),  # it has no build for Windows
)


def service_extra(what: str) -> None:
    """Refuse where packages of the extra ``serve`` are missing."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InvalidParameter(f"{what} need {', '.join(missing)}, not installed here: pip install 'mapl[serve]'.")
