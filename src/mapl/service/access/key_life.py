"""When a key ends: a day, a time or a while from now, in words that a person writes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from mapl.errors import InvalidParameter

WHILE = re.compile(r"([1-9][0-9]{0,4})([hd])")
LAST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
"""The last second that can be told as a time again; an offset may name one beyond it."""


def end_of_key(text: str, now: float) -> int:
    """Return when a key ends, in seconds since 1970.

    Parameters
    ----------
    text
        "90d" or "12h" from now; "2027-01-31", the end of that day in UTC; or a time, "2027-01-31T12:00+01:00".

    Examples
    --------
    >>> end_of_key("2h", 1000.0), end_of_key("1970-01-02", 0.0)
    (8200, 172800)
    """
    given = text.strip()
    found = WHILE.fullmatch(given)
    if found is not None:
        end = now + int(found[1]) * (3600 if found[2] == "h" else 86400)
    else:
        try:
            at = datetime.fromisoformat(given)
            at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
            end = (at + timedelta(days=1) if len(given) <= len("2027-01-31") else at).timestamp()
        except (ValueError, OverflowError):  # what is no time, or beyond the last one there is
            raise InvalidParameter(
                f"{given[:40]!r} tells no time; write 90d or 12h, a day such as 2027-01-31, or a time such as "
                "2027-01-31T12:00+01:00."
            ) from None
    if end > LAST:
        raise InvalidParameter(f"{given[:40]!r} is beyond the year 9999; leave it away for a key that never ends.")
    if end <= now:
        raise InvalidParameter(f"{given[:40]!r} has passed; choose a time to come.")
    return int(end)


def end_in_words(expires: int | None) -> str:
    """Say when a key ends, in UTC.

    Examples
    --------
    >>> end_in_words(8200), end_in_words(None)
    ('1970-01-01 02:16 UTC', 'never')
    """
    if expires is None:
        return "never"
    return datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%d %H:%M UTC")
