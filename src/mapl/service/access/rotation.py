"""A new key in the place of another: the same name, scopes and what is left of its cap."""

from __future__ import annotations

from mapl.errors import InvalidParameter
from mapl.release.ledger.inquiries import Author, KeyRecord, OnlineLedger
from mapl.service.access.keys import KeyMaker


def rotate_key(
    ledger: OnlineLedger,
    maker: KeyMaker,
    id: str,
    *,
    expires: int | None,
    until: int | None,
    by: Author,
    now: float,
) -> tuple[str, KeyRecord]:
    """Replace a key, in one step; return the new one and what the ledger keeps of it.

    Parameters
    ----------
    expires
        When the new key ends; if None, when the old one would have.
    until
        When the old key ends, if not now. A key with a cap has no overlap, since both together could exceed it.
    """
    old = ledger.key(id)
    if old is None or old.revoked:
        raise InvalidParameter(f"There is no valid key {id[:40]}; list the keys to see which there are.")
    if old.most is not None and until is not None:
        raise InvalidParameter(f"Key {id} has a cap, which two keys would exceed; rotate it without an overlap.")
    expires = old.expires if expires is None else expires
    if expires is not None and expires <= now:
        raise InvalidParameter(f"Key {id} has ended; say when the new one ends.")
    left = None if old.most is None else old.most - old.taken
    if left == 0:
        raise InvalidParameter(f"Key {id} has asked all that its cap allows; create a new one.")
    token, record = maker.new(old.name, old.scopes, most=left, expires=expires)
    if until is not None and old.expires is not None:
        until = min(until, old.expires)
    return token, ledger.replace_key(id, record, until=until, by=by)
