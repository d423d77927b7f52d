"""Who is new in a group of inquiries, who is refused, and what each is told: the same for every ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mapl.errors import GuaranteeBroken, InvalidParameter, LedgerError
from mapl.planning.plan import canonical
from mapl.release.ledger.chain import HALTED, Record
from mapl.release.ledger.inquiries import DIGEST_BYTES, NOT_ASKED, Decide, Inquiry, Refused, Reply
from mapl.release.ledger.key_log import TAKEN, digest_of_taken, taken_line
from mapl.release.spend import Decision
from mapl.types import ABSTAIN, Outcome, State

ASKED = "asked"
"""Under this name an entry holds the digest of the questions of its block."""

INQUIRIES = "inquiries"
"""Under this name an entry holds the seal of all requests that are stored up to it."""

UNSEALED = "0" * 64
"""The seal of no requests."""


@dataclass(frozen=True, slots=True)
class Group:
    """What a group of inquiries comes to before anything is decided.

    ``settled`` holds for each of them a refusal or the inquiry whose questions it is told about, which is the
    stored one where there is one. ``new`` are the questions to be decided, ``fresh`` the inquiries to be stored,
    ``taken`` how many of the new questions each caller has asked.
    """

    settled: tuple[Inquiry | Refused, ...]
    new: tuple[bytes, ...]
    fresh: tuple[Inquiry, ...]
    taken: Mapping[str, int]

    def replies(self, outcomes: Mapping[bytes, int]) -> list[Reply | Refused]:
        """Tell everyone what was published of what they asked."""
        return [one if isinstance(one, Refused) else reply_to(one, outcomes) for one in self.settled]


def sort_out(
    inquiries: Sequence[Inquiry],
    *,
    stored: Mapping[str, Inquiry],
    known: Collection[bytes],
    room: Mapping[str, int],
    left: int,
) -> Group:
    """Find what is new in a group, in order.

    An inquiry that is stored already goes on where it was left off: it has new questions only if it is a large one
    that was cut off. One that reaches nothing (every question is new and the budget has ended) leaves no trace, so
    that those who come too late cannot fill the disk.

    Parameters
    ----------
    stored
        Earlier inquiries, by those ids of the group that are in use already.
    known
        Questions that were put to the mechanism before.
    room
        How many new questions a caller may still ask; a caller that is not named here has no cap.
    left
        How many questions the stage may still take; 0 where it has ended.
    """
    seen = dict(stored)
    new: dict[bytes, None] = {}
    taken: dict[str, int] = {}
    settled: list[Inquiry | Refused] = []
    fresh: list[Inquiry] = []
    for inquiry in inquiries:
        earlier = seen.get(inquiry.id)
        if earlier is not None and not same_request(earlier, inquiry):
            settled.append(Refused.OTHER_BODY)
            continue
        own, caller = earlier or inquiry, inquiry.caller
        asked = [q for q in dict.fromkeys(own.questions) if q not in known and q not in new]
        asked = asked[: max(left - len(new), 0)]
        before = taken.get(caller, 0)
        if asked and caller in room and before + len(asked) > room[caller]:
            settled.append(Refused.CALLER_LIMIT)
            continue
        if asked:
            taken[caller] = before + len(asked)
            new.update(dict.fromkeys(asked))
        settled.append(own)
        if earlier is None and inquiry.kept and any(q in known or q in new for q in inquiry.questions):
            seen[inquiry.id] = inquiry
            fresh.append(inquiry)
    return Group(tuple(settled), tuple(new), tuple(fresh), taken)


def same_request(one: Inquiry, other: Inquiry) -> bool:
    """Say whether two inquiries with one id are the same request of the same caller."""
    return one.caller == other.caller and one.body == other.body


def reply_to(inquiry: Inquiry, outcomes: Mapping[bytes, int]) -> Reply:
    """Look up what was published of an inquiry's questions."""
    codes = [outcomes.get(question, NOT_ASKED) for question in inquiry.questions]
    return Reply(inquiry.id, np.array(codes, dtype=np.int32))


def recall_replies(
    inquiries: Sequence[Inquiry], stored: Mapping[str, Inquiry], outcomes: Mapping[bytes, int]
) -> list[Reply | Refused | None]:
    """Return what stored inquiries were told, and None for those that are not stored."""
    said: list[Reply | Refused | None] = []
    for inquiry in inquiries:
        earlier = stored.get(inquiry.id)
        if earlier is None:
            said.append(None)
        else:
            said.append(reply_to(earlier, outcomes) if same_request(earlier, inquiry) else Refused.OTHER_BODY)
    return said


def decide_new(
    state: State, group: Group, decide: Decide, *, n_classes: int, sealed: str
) -> tuple[Outcome, Decision]:
    """Have the new questions decided, and return what is to be recorded of it.

    The entry also names digests of what callers have taken, and of all requests that are stored (`sealed`).
    """
    new = group.new
    outcome = decide(state, new)
    payload = {ASKED: digest_of(new), TAKEN: digest_of_taken(taken_line(group.taken), new), INQUIRIES: sealed}
    n, abstained = len(outcome.labels), int(np.count_nonzero(outcome.labels == ABSTAIN))
    made = Decision.of(outcome, state, n_asked=len(new), n_classes=n_classes, payload=payload)
    if n > len(new) or (made.answered, made.abstained) != (n - abstained, abstained):
        raise GuaranteeBroken(
            "The number of outcomes is not the number of questions that would be counted; nothing was released."
        )
    return outcome, made


def outcomes_of(new: Sequence[bytes], outcome: Outcome) -> dict[bytes, int]:
    """Return what was published of each question of a block; those after a halt were not asked."""
    return {**dict.fromkeys(new, NOT_ASKED), **dict(zip(new, outcome.labels.tolist(), strict=False))}


def digest_of(questions: Iterable[bytes]) -> str:
    """Return what an entry says of the questions of its block, so that no answer is tied to another one later."""
    return hashlib.sha256(b"".join(questions)).hexdigest()


def seal_inquiries(seal: str, inquiries: Iterable[Inquiry]) -> str:
    """Go on with a seal: it covers every request that was stored, in order, and every byte of each."""
    for one in inquiries:
        questions = b"".join(one.questions)
        named = canonical([seal, one.id, one.caller, one.body.hex(), len(questions)])
        seal = hashlib.sha256(named.encode() + questions).hexdigest()
    return seal


def count_left(first: Record | None, last: Record) -> int:
    """Return how many questions a stage may still take: a public number, 0 where it has ended."""
    if last.kind == HALTED:
        return 0
    most = last.most_answered + last.most_abstained
    questions = most if first is None else int(first.told().get("questions", most))
    return max(min(questions, most) - last.all_answered - last.all_abstained, 0)


def unbegun(stage: str) -> LedgerError:
    """Return the error of a stage that has no start, hence no state to decide from."""
    return LedgerError(f"Stage {stage!r} has not begun; open the ledger with its plan and begin the stage first.")


def refuse_odd(inquiries: Sequence[Inquiry]) -> None:
    """Refuse digests that are none, before anything is decided."""
    for inquiry in inquiries:
        if len(inquiry.body) != DIGEST_BYTES or any(len(one) != DIGEST_BYTES for one in inquiry.questions):
            raise InvalidParameter(
                f"A digest of an inquiry has not the {DIGEST_BYTES} bytes of a SHA-256 or BLAKE2 digest; hash it."
            )
