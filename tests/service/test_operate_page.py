"""The page for operators names every route, setting, option, refusal and metric of a server."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from mapl.cli.verbs import command_of
from mapl.service.app import ROUTES
from mapl.service.problem import KINDS
from mapl.service.settings import ServerSettings

PAGE = (Path(__file__).parents[2] / "docs" / "operate.md").read_text()


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _, _ in ROUTES])
def test_every_route_is_told(method: str, path: str) -> None:
    assert re.search(rf"`{method} {re.escape(path)}[`?]", PAGE), f"{method} {path}"


@pytest.mark.parametrize("name", [one.name for one in fields(ServerSettings)])
def test_every_setting_is_told(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_every_option_is_told() -> None:
    told = set(re.findall(r"--[a-z-]+", PAGE))
    named = {parameter.opts[0] for parameter in command_of("serve").params if parameter.opts[0].startswith("--")}
    assert named - told == set()


@pytest.mark.parametrize("status", sorted({kind.status for kind in KINDS} - {400, 401, 403, 404, 405, 415, 500}))
def test_every_status_with_a_meaning_of_its_own_is_told(status: int) -> None:
    assert str(status) in PAGE
