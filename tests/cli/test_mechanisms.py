"""``mapl mechanisms`` lists the registry."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mapl.mechanisms import REGISTRY

Mapl = Callable[..., Any]


def test_every_mechanism_is_listed(mapl: Mapl) -> None:
    ran = mapl("mechanisms")
    assert ran.code == 0
    assert all(name in ran.stdout for name in REGISTRY)


def test_as_json(mapl: Mapl) -> None:
    listed = json.loads(mapl("mechanisms", "--json").stdout)["mechanisms"]
    assert [m["name"] for m in listed] == list(REGISTRY)
    ladder = listed[0]
    assert ladder["settings"] == ["max_abstentions", "order"]
    assert (ladder["classes"], ladder["kind"]) == (None, "release")
    assert ladder["summary"]
