"""The server's log: one JSON object per line on standard error, in own words, without tracebacks.

A traceback would quote what a server works on. Lines about requests hold their id, method, route, status, caller
and milliseconds: what the caller knows, and nothing about rows or answers.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

FIELDS = "mapl_fields"
"""Under this name a record brings its own fields along."""


def write_log() -> None:
    """Write the log of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("mapl", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class JsonLines(logging.Formatter):
    """Writes a record as JSON; what an exception says stays away."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(told | getattr(record, FIELDS, {}))
