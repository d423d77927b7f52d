"""A model as bytes that are safe to read: what skops writes, and nothing outside the fixed list of `allow_list`."""

from __future__ import annotations

import json
import warnings
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from mapl.errors import InvalidData, InvalidParameter
from mapl.students.file.allow_list import ALLOWED, refuse_forged
from mapl.students.file.canonical_archive import PLAN, model_archive
from mapl.students.file.former_names import with_present_names
from mapl.students.file.skops_import import import_skops
from mapl.students.file.tree_bounds import refuse_bad_trees


def model_bytes(model: Any, compression: int = ZIP_DEFLATED) -> bytes:
    """Write a model, or say why it would not be read again.

    Raises
    ------
    InvalidParameter
        With the bare reason.
    """
    try:
        content = model_archive(model, compression)
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
        content = with_present_names(content)
        with ZipFile(BytesIO(content)) as archive:
            refuse_forged(json.loads(archive.read(PLAN)), archive.read)
        return build_model(content, source)
    except (InvalidData, ModuleNotFoundError):
        raise
    except Exception:  # whatever a damaged archive, JSON text, array or model raises
        raise InvalidData(f"{source} is damaged or was not written by mapl; it is not used.") from None


def build_model(content: bytes, source: str) -> Any:
    """Build the model if, and only if, every type in the file is one that skops or mapl trusts."""
    skops_io = import_skops()
    from skops.io.exceptions import UntrustedTypesFoundException

    from mapl.students.images.network_bounds import refuse_bad_networks

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever reads a file compares versions in words
            model = skops_io.loads(content, trusted=list(ALLOWED))
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
    return sorted(set(import_skops().get_untrusted_types(data=content)) - set(ALLOWED))
