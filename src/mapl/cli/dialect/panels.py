"""The panels of a verb's help: options stand together by what they are about."""

from __future__ import annotations

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
