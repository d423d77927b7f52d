"""A model as bytes that are safe to read: what skops writes, and nothing outside the fixed list of `allow_list`."""

from __future__ import annotations

import json
import warnings
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from mapl.errors import InvalidData, InvalidParameter
from mapl.students.allow_list import ALLOWED, refuse_forged
from mapl.students.tree_bounds import refuse_bad_trees

PLAN = "schema.json"


def model_bytes(model: Any) -> bytes:
    """Write a model, or say why it would not be read again.

    Raises
    ------
    InvalidParameter
        With the bare reason.
    """
    import skops.io

    try:
        content: bytes = skops.io.dumps(model, compression=ZIP_DEFLATED)
    except Exception as failure:
        raise InvalidParameter(f"skops says: {failure}") from None
    unknown = unknown_types(content)
    if unknown:
        raise InvalidParameter(f"it holds {', '.join(unknown)}")
    try:
        with ZipFile(BytesIO(content)) as archive:
            refuse_forged(json.loads(archive.read(PLAN)), archive.read)
    except InvalidData as failure:
        raise InvalidParameter(f"it would not be read again ({failure})") from None
    return content


def model_from(content: bytes, source: str, *, most_bytes: int) -> Any:
    """Build a model of which nothing is believed: see `allow_list`.

    Parameters
    ----------
    source
        What is read, for messages.
    most_bytes
        What it may weigh unpacked; more is a zip bomb.
    """
    try:
        with ZipFile(BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > most_bytes:
                raise InvalidData(f"{source} unpacks to more than {most_bytes >> 20} MiB; it is damaged or forged.")
            refuse_forged(json.loads(archive.read(PLAN)), archive.read)
        return built(content, source)
    except (InvalidData, ModuleNotFoundError):
        raise
    except Exception:  # whatever a damaged archive, JSON text, array or model raises
        raise InvalidData(f"{source} is damaged or was not written by mapl; it is not used.") from None


def built(content: bytes, source: str) -> Any:
    """Build the model if, and only if, every type in the file is one that skops or mapl trusts."""
    import skops.io
    from skops.io.exceptions import UntrustedTypesFoundException

    from mapl.students.network_bounds import refuse_bad_networks

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever reads a file compares versions in words
            model = skops.io.loads(content, trusted=list(ALLOWED))
    except UntrustedTypesFoundException:
        raise InvalidData(
            f"{source} holds types that mapl does not build from files: {', '.join(unknown_types(content))}. It "
            "was not written by mapl, or was changed; ask its author for a student made with one of mapl's presets."
        ) from None
    refuse_bad_trees(model)
    refuse_bad_networks(model)
    return model


def unknown_types(content: bytes) -> list[str]:
    """Return the types in a file that neither skops nor mapl trusts."""
    import skops.io

    return sorted(set(skops.io.get_untrusted_types(data=content)) - set(ALLOWED))
