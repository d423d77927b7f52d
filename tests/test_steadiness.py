"""No test hangs on how fast the clock goes: machines are busy."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from hypothesis import HealthCheck, settings

LEAST = 60
LIMIT = re.compile(r"\b(?:timeout|settimeout|PATIENCE|wait|result|communicate)\s*[=(]\s*(\d+(?:\.\d+)?)")


def test_examples_have_no_deadline() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_who_waits_waits_for_a_minute_at_least() -> None:
    short = {
        f"{path.name}: {found[0]}"
        for path in Path(__file__).parent.rglob("*.py")
        for found in LIMIT.finditer(path.read_text(encoding="utf-8"))
        if float(found[1]) < LEAST
    }
    assert not short


def test_who_asks_a_server_says_how_long_to_wait() -> None:
    """Left to itself, httpx gives up after five seconds by the clock."""
    hasty = {
        f"{path.name}:{call.lineno}"
        for path in Path(__file__).parent.rglob("*.py")
        if "httpx." in (text := path.read_text(encoding="utf-8"))
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("httpx.get", "httpx.post", "httpx.Client")
        if not {"timeout", "transport"} & {one.arg for one in call.keywords}
    }
    assert not hasty
