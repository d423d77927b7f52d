"""An inquiry: a student's side of asking, which yields rows and is sent their labels.

Control is turned round on purpose. Whoever chooses rows holds no service, no votes and no way to them: it is a
generator that is handed released labels, and what it yields can depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from mapl.release.label_service import LabelService
from mapl.types import Integers, Labels

Inquiry = Generator[Integers, Labels, Labels]
"""Yields public rows to ask about, is sent their labels, and returns a class number for every row of its pool to
learn from, ABSTAIN for none. It is sent fewer labels than it asked for once nobody answers any more."""


def interview(
    inquiry: Inquiry, service: LabelService, *, on_progress: Callable[[int], None] | None = None
) -> Labels:
    """Ask a service what an inquiry wants to know, and return the labels to learn from.

    Parameters
    ----------
    on_progress
        Called with the number of labels told so far, which is public.
    """
    told = 0
    try:
        rows = next(inquiry)
        while True:
            labels = service.ask(rows)
            told += len(labels)
            if on_progress is not None:
                on_progress(told)
            rows = inquiry.send(labels)
    except StopIteration as ended:
        learned_from: Labels = ended.value
        return learned_from
