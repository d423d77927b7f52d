"""Archives whose bytes are a function of what is in them: no clock, no addresses, no leftovers of memory.

skops names objects by their addresses and stamps its members with the local time, and arrays of records are written
with the gaps between their fields. Where a model came to lie in memory, and what lay there before, depends on what
else the process has read; in a public file it would tell about the private table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from mapl.students.file.skops_import import import_skops

PLAN = "schema.json"
"""The member by which skops builds a model; the others are its arrays."""

HEADER, OF_NUMBERS = 10, b"{'descr': '"
"""Where a stored array tells what it holds, and how that begins where it holds no records, which is a list."""

EARLIEST = (1980, 1, 1, 0, 0, 0)
UNIX, OWNER_ONLY = 3, 0o100600 << 16


def pack(members: Iterable[tuple[str, bytes]], compression: int = ZIP_DEFLATED) -> bytes:
    """Return an archive of named members, in their order and all of the same date."""
    return extend(b"", members, compression)


def extend(archive: bytes, members: Iterable[tuple[str, bytes]], compression: int = ZIP_DEFLATED) -> bytes:
    """Return an archive with further members at its end."""
    buffer = BytesIO(archive)
    with ZipFile(buffer, "a") as opened:
        for name, content in members:
            about = ZipInfo(name, EARLIEST)
            about.create_system, about.external_attr, about.compress_type = UNIX, OWNER_ONLY, compression
            opened.writestr(about, content)
    return buffer.getvalue()


def model_archive(model: Any, compression: int = ZIP_DEFLATED) -> bytes:
    """Return a model as skops writes it, but for names and dates; equal models give equal bytes."""
    with ZipFile(BytesIO(import_skops().dumps(model, compression=ZIP_STORED))) as written:
        names = Names()
        plan = json.dumps(names.given_to(json.loads(written.read(PLAN))), indent=2)
        arrays = [(new, without_gaps(written.read(old))) for old, new in names.files.items()]
    return pack([(PLAN, plan.encode()), *arrays], compression)


class Names:
    """Numbers for objects and names for members, in the order in which the plan comes to them."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.files: dict[str, str] = {}

    def given_to(self, part: Any) -> Any:
        """Return a part of the plan with new numbers and names in place of addresses."""
        if isinstance(part, list):
            return [self.given_to(one) for one in part]
        if not isinstance(part, dict):
            return part
        if part.get("__loader__") == "SetNode":
            # Sets come in the order of hashes, which no two processes share.
            part = {**part, "content": sorted(part["content"], key=_without_numbers)}
        return {key: self._given(key, value, part) for key, value in part.items()}

    def _given(self, key: str, value: Any, node: dict[str, Any]) -> Any:
        if key == "__id__" and isinstance(value, int):
            # From 1 on: what has the number 0 skops takes for an object without one.
            return self.numbers.setdefault(_identity(value, node), len(self.numbers) + 1)
        if key == "file" and isinstance(value, str):
            return self.files.setdefault(value, f"{len(self.files)}.{value.rpartition('.')[2]}")
        return self.given_to(value)


def without_gaps(member: bytes) -> bytes:
    """Return a stored array with zeros between the fields of its records, where memory's leftovers were."""
    if not member.startswith(np.lib.format.MAGIC_PREFIX) or member[HEADER:].startswith(OF_NUMBERS):
        return member
    array = np.load(BytesIO(member), allow_pickle=False)
    if array.dtype.names is None:
        return member
    clean = np.zeros(array.shape, array.dtype)
    _fill(clean, array)
    sink = BytesIO()
    np.save(sink, clean, allow_pickle=False)
    return sink.getvalue()


def _fill(clean: NDArray[Any], array: NDArray[Any]) -> None:
    """Copy records field by field, which leaves alone what is between fields."""
    if array.dtype.names is None:
        clean[...] = array
    for name in array.dtype.names or ():
        _fill(clean[name], array[name])


def _identity(address: int, node: dict[str, Any]) -> Any:
    """Return what tells an object from others: plain values their content, anything else where it lay."""
    if node.get("__loader__") == "JsonNode":
        return node["__module__"], node["__class__"], node["content"]
    return address


def _without_numbers(part: Any) -> str:
    def plain(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: plain(value) for key, value in one.items() if key not in ("__id__", "file")}
        return [plain(each) for each in one] if isinstance(one, list) else one

    return json.dumps(plain(part), sort_keys=True)
