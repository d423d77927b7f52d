"""Masks that cancel: whoever adds the answers of all sites up sees their sum, and nothing of a single one.

Every two sites agree on a secret; one of them adds numbers that are drawn from it and the other takes them away,
modulo 2^64. No promise rests on this: numbers are noisy before they are masked. It keeps a coordinator that does as
it is told, its disks and its logs from holding what one site said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mapl.errors import InvalidData
from mapl.federation.message import SiteAnswer
from mapl.planning.plan import canonical
from mapl.types import Integers

PURPOSE = b"mapl masks of sites 1"


def new_key() -> tuple[bytes, bytes]:
    """Return a secret key and the public one that goes with it, for one round (X25519)."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    key = X25519PrivateKey.generate()
    return key.private_bytes_raw(), key.public_key().public_bytes_raw()


def agree(secret: bytes, others: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what is shared with every other site, by its public key."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    key = X25519PrivateKey.from_private_bytes(secret)
    try:
        return {name: key.exchange(X25519PublicKey.from_public_bytes(one)) for name, one in others.items()}
    except (ValueError, TypeError):
        raise InvalidData("The public key of a site is none; nothing was masked with it.") from None


def mask(answer: SiteAnswer, shared: Mapping[str, bytes]) -> SiteAnswer:
    """Return an answer whose numbers say nothing before those of all sites that share secrets with it are added.

    Parameters
    ----------
    shared
        What the site shares with each of the others.
    """
    if answer.site in shared or not shared:
        raise InvalidData("A site is masked with others, at least one, and not with itself.")
    together = tuple(sorted({answer.site, *shared}))
    label = canonical([answer.agreement, answer.round, answer.heard, together]).encode()
    total = answer.numbers.astype(np.uint64)
    for other, secret in shared.items():
        drawn = draw_mask(secret, label, len(total))
        total = total + drawn if answer.site < other else total - drawn
    # The head of the ledger is a digest of the numbers, by which few of them could be guessed.
    statement = {**answer.statement, "ledger_head": None}
    return replace(answer, numbers=total.astype(np.int64), statement=statement, masked=together)


def draw_mask(secret: bytes, label: bytes, n: int) -> Any:
    """Return n whole numbers below 2^64 that follow from a secret, other ones for every label (SHAKE-256)."""
    size = len(secret).to_bytes(2, "big")  # so that no secret and label read as another pair
    stream = hashlib.shake_256(PURPOSE + size + secret + label).digest(8 * n)
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


def refuse_leftovers(numbers: Integers, largest: int) -> None:
    """Refuse sums that cannot be sums of answers: masks did not cancel."""
    if np.abs(numbers.astype(np.float64)).max(initial=0) > largest:
        raise InvalidData(
            "The masks of the sites do not cancel: an answer is damaged, or was masked with other sites. Ask all "
            "of them again; what they answered is on record, and nothing is spent twice."
        )
