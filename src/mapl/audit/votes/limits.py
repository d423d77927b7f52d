"""When a run ends, found out from `release` itself: by asking it, with coins that force its hand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mapl.audit.votes.histograms import Law
from mapl.noise import Coins
from mapl.types import ABSTAIN, State, Tallies


class ForcedCoins(Coins):
    """Coins whose first words are all small or all large, which makes noise and flips extreme."""

    private = False

    def __init__(self, word: int) -> None:
        self._word = word

    def words(self, n: int) -> NDArray[np.uint64]:
        # Later words are zero: a large word for ever would be rejected for ever by draws that reject.
        word, self._word = self._word, 0
        return np.full(n, word, dtype=np.uint64)


SMALL, LARGE = 0, (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class RunEnds:
    """After how many abstentions, answers or questions a run halts; None is never, as far as was asked."""

    abstentions: int | None = None
    answers: int | None = None
    questions: int | None = None


@dataclass(frozen=True, slots=True)
class AskedOnce:
    """What was published for one question, and where the run stands after it."""

    abstained: bool
    state: State


def ask(law: Law, state: State, question: Tallies, word: int) -> AskedOnce | None:
    """Ask one question with forced coins; None if the run has halted."""
    outcome = law.release(state, question, ForcedCoins(word))
    if len(outcome.labels) == 0:
        return None
    fell_back = outcome.fallback is not None and bool(outcome.fallback[0])
    return AskedOnce(bool(outcome.labels[0] == ABSTAIN) or fell_back, outcome.state)


def take(law: Law, state: State, questions: list[Tallies], *, abstain: bool) -> State | None:
    """Make the next question end in an abstention, or in an answer; None if neither coins nor votes can."""
    for question, word in product(questions, (LARGE, SMALL)):
        asked = ask(law, state, question, word)
        if asked is not None and asked.abstained == abstain:
            return asked.state
    return None


def count(law: Law, state: State | None, questions: list[Tallies], most: int, *, abstain: bool) -> int:
    """Return how many abstentions, or answers, in a row the run goes through, up to `most`."""
    done = 0
    while state is not None and done < most:
        state = take(law, state, questions, abstain=abstain)
        done += state is not None
    return done


def limits_of(law: Law, n_teachers: int, n_classes: int, most: int) -> RunEnds:
    """Find the limits that bind within `most` questions, by published outcomes alone."""
    tie, consensus = np.zeros((2, 1, n_classes), dtype=np.int64)
    tie[0, :2] = n_teachers - n_teachers // 2, n_teachers // 2
    consensus[0, -1] = n_teachers
    questions = [Tallies(tie), Tallies(consensus)]
    start = law.start(ForcedCoins(SMALL))
    after = {kind: take(law, start, questions, abstain=kind) for kind in (True, False)}
    found: dict[str, int] = {}
    for kind, name in ((True, "abstentions"), (False, "answers")):
        alone = count(law, start, questions, most + 1, abstain=kind)
        if not 0 < alone <= most:
            continue
        # After one outcome of the other kind a limit on all questions is one nearer, a limit on this kind is not.
        late = count(law, after[not kind], questions, most + 1, abstain=kind) if after[not kind] else alone
        found["questions" if late < alone else name] = alone
    return RunEnds(**found)
