"""The panels of a verb's help: options stand together by what they are about."""

from __future__ import annotations

from typing import Any

import typer


def option(panel: str, says: str | None, *names: Any, **more: Any) -> Any:
    """Return what `typer.Option` makes of names (or a default) and settings, in a panel."""
    return typer.Option(*names, help=says, rich_help_panel=panel, **more)


TABLES = "Tables"
BUDGET = "Budget and unit"
METHOD = "Method"
TEACHERS = "Teachers"
CELLS = "Cells"
STUDENT = "Student"
REPORT = "Report"
PREDICTIONS = "Predictions"
EXPORT = "Export"
SERVER = "Server"
REQUESTS = "Requests"
KEY = "The key"
CHAIN = "The chain"
NUMBERS = "Numbers"
RUNNING = "Running"
