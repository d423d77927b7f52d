"""How answers are written: the same number of bytes whatever they say."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from mapl.release.ledger.inquiries import NOT_ASKED, Reply
from mapl.types import ABSTAIN

ANSWERED, ABSTAINED, UNASKED = "answered", "abstained", "not asked"
STATUSES = (ANSWERED, ABSTAINED, UNASKED)


class AnswerForm:
    """Writes replies as JSON; blanks after each label and status make all of them equally long.

    The length of a reply is a function of the number of its questions and of the declared classes alone.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        spoken: dict[int, tuple[str | None, str]] = {code: (name, ANSWERED) for code, name in enumerate(classes)}
        spoken |= {ABSTAIN: (None, ABSTAINED), NOT_ASKED: (None, UNASKED)}
        labels = _padded([orjson.dumps(label) for label, _ in spoken.values()])
        statuses = _padded([orjson.dumps(status) for _, status in spoken.values()])
        self._written = {
            code: b'{"label":%b,"status":%b}' % both
            for code, both in zip(spoken, zip(labels, statuses, strict=True), strict=True)
        }

    def write(self, reply: Reply) -> bytes:
        """Return a reply as JSON."""
        answers = b",".join(map(self._written.__getitem__, reply.labels.tolist()))
        return b'{"id":"%b","answers":[%b]}' % (reply.id.encode(), answers)


def _padded(literals: list[bytes]) -> list[bytes]:
    width = max(map(len, literals))
    return [literal.ljust(width) for literal in literals]
