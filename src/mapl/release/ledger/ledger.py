"""The ledger: spend, mechanism state and answers in one durable step, before anything is published."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from mapl.errors import GuaranteeBroken, LedgerError, LedgerTampered
from mapl.planning.plan import canonical
from mapl.release.ledger.chain import (
    HALTED,
    START,
    Answers,
    Entry,
    Limit,
    Limits,
    Record,
)
from mapl.types import Flags, Labels, Secret, State

__all__ = [
    "Answers",
    "Entry",
    "Ledger",
    "Limit",
    "Limits",
    "NeverCopied",
    "Progress",
    "Record",
    "progress_of",
    "seal_of",
    "state_of",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a stage stands: its state, with the secret if there is one, and everything it has published.

    ``start`` is the public payload of the stage's first entry, or None while the stage has not begun.
    """

    state: State
    labels: Labels
    fallback: Flags | None
    start: Mapping[str, Any] | None

    @property
    def started(self) -> bool:
        return self.start is not None


class Ledger(Protocol):
    """The record of one run's spending; what every kind of ledger promises is tested in one contract suite.

    Notes
    -----
    *Guarantee.* At every instant, after any fault, the recorded spend is at least that of everything published,
    if publishing waits for `append` to return. Proof: docs/proofs/ledger.md.
    """

    def open(self, plan_digest: str, limits: Limits, *, fresh: bool = False) -> None:
        """Begin the chain with this plan, or go on with it; another plan is refused (PlanMismatch).

        A run that cannot be gone on with asks for a `fresh` chain: then every earlier run is refused, also one of
        the same plan, and of several that ask at the same time one is let in.
        """

    def append(self, entry: Entry, *, secret: Secret | None = None, answers: Answers | None = None) -> None:
        """Record spend, state and answers in one step that is durable on return; on an error nothing is recorded.

        Raises BudgetExhausted beyond the limits, and LedgerError where writing fails or somebody else has written
        since this object last looked (`open`, `progress` or `append`).
        """

    def progress(self, stage: str) -> Progress:
        """Return where a stage stands."""

    @property
    def head(self) -> str:
        """The hash of the newest entry."""

    @property
    def run_id(self) -> str | None:
        """The random id that the chain began with, None for a chain of a mapl that had none."""

    def entries(self) -> list[Record]:
        """Return all entries, oldest first."""

    def verify(self, *, seen: str | None = None) -> None:
        """Check the whole chain and what hangs on it, and that a head `seen` earlier is still part of it."""

    def export(self) -> list[dict[str, Any]]:
        """Return the public chain as plain values: no secret, no vote."""


class NeverCopied:
    """Something that exists once; `copy`, `pickle`, skops and whatever is built on them are refused."""

    def __copy__(self) -> Self:
        raise GuaranteeBroken(
            "A ledger is never copied or pickled: two copies would each spend the whole budget. Hand over the "
            "ledger itself, or open its file where it is needed."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__copy__()

    def __reduce__(self) -> Any:  # skops asks here
        return self.__copy__()


def progress_of(
    first: Record | None, last: Record | None, answers: Iterable[Answers], secret: Secret | None
) -> Progress:
    """Put together where a stage stands from its first and newest record and its blocks of answers."""
    blocks = list(answers)
    labels = np.empty(sum(len(block.labels) for block in blocks), dtype=np.int32)
    if blocks:
        np.concatenate([block.labels for block in blocks], out=labels)
    if first is None or last is None:
        return Progress(State(), labels, None, None)
    flagged = any(block.fallback is not None for block in blocks)
    flags = [np.zeros(len(b.labels), np.bool_) if b.fallback is None else b.fallback for b in blocks]
    return Progress(state_of(last, secret), labels, np.concatenate(flags) if flagged else None, first.told())


def state_of(last: Record, secret: Secret | None) -> State:
    """Return the state that a stage's newest record and its secret stand for."""
    return State(last.all_answered, last.all_abstained, last.kind == HALTED, secret)


def refuse_unfit_answers(entry: Entry, answers: Answers | None) -> None:
    """Refuse answers whose number is not the one that is counted."""
    if answers is not None and len(answers.labels) != entry.answered + entry.abstained:
        raise GuaranteeBroken(
            "The number of published outcomes is not the number that would be counted; nothing was released."
        )
    if entry.kind == START and answers is not None:
        raise LedgerError("A stage's start carries no answers; append them afterwards.")


def still_there(records: Iterable[Record], seen: str | None) -> None:
    """Refuse a chain that has lost a head which was seen before."""
    if seen is not None and all(record.hash != seen for record in records):
        raise LedgerTampered(
            "The ledger does not contain the head that was seen before: it was rolled back, or it is another "
            "run's. Restore its newest copy."
        )


def seal_of(record: Record, secret: int | None) -> str:
    """Tie a secret to its record. Seals stay beside the secrets: a hash of a small number hides nothing."""
    return hashlib.sha256(canonical([record.hash, secret]).encode()).hexdigest()
