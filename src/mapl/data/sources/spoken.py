"""What messages call an address: without who asks, with which password, and for what."""

from __future__ import annotations


def spoken(address: str) -> str:
    """Return an address as far as it may be printed; passwords may hold any mark, so the last @ ends them.

    >>> spoken("PostgreSQL://me:pa?ss@host/db?table=visits"), spoken("s3://KEY:secret@bucket/visits")
    ('postgresql://host/db', 's3://bucket/visits')
    """
    scheme, _, rest = address.partition("://")
    return f"{scheme.lower()}://{rest.rpartition('@')[2].split('?')[0]}"
