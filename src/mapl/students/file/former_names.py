"""Types that have moved within mapl: files of version 0.1 name them by the places they had then."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from mapl.students.file.canonical_archive import PLAN, pack

FORMER = {
    "mapl.data.encoder": "mapl.data.encoding.encoder",
    "mapl.data.public_encoder": "mapl.data.encoding.public_encoder",
    "mapl.students.convolution": "mapl.students.images.convolution",
    "mapl.students.kernel": "mapl.students.images.kernel",
    "mapl.students.soft_logistic": "mapl.students.soft.logistic",
    "mapl.students.soft_regressor": "mapl.students.soft.regressor",
    "mapl.students.voting": "mapl.students.strategies.voting",
}
"""Module as it was called -> as it is called."""


def with_present_names(content: bytes) -> bytes:
    """Return a file with mapl's own types under their present names; what is in it is believed no more for that."""
    with ZipFile(BytesIO(content)) as archive:
        plan = json.loads(archive.read(PLAN))
        if not _rename(plan):
            return content
        members = [(name, archive.read(name)) for name in archive.namelist() if name != PLAN]
    return pack([(PLAN, json.dumps(plan).encode()), *members])


def _rename(plan: Any) -> bool:
    """Rename all modules in a parsed plan, and say whether there were any."""
    found, queue = False, [plan]
    while queue:
        part = queue.pop()
        if isinstance(part, dict):
            module = part.get("__module__")
            if isinstance(module, str) and module in FORMER:
                part["__module__"], found = FORMER[module], True
            queue.extend(part.values())
        elif isinstance(part, list):
            queue.extend(part)
    return found
