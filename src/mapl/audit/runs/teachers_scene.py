"""A set-up of teachers, rehearsed: shards of a few made-up records, votes on the brink, the real release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from mapl.audit.runs.rote import Rote
from mapl.audit.runs.scene import ANSWERS, CALM, LABELS, LOUD, NOTHING, STUDENT, Pupil
from mapl.audit.runs.set_up import SetUp
from mapl.audit.votes.secrets import secrets_of
from mapl.data.tables.private_rows import PrivateRows
from mapl.data.tables.rows import take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey, Shards
from mapl.errors import GuaranteeBroken, InvalidParameter
from mapl.mechanisms import AnyMechanism, make
from mapl.noise import Coins
from mapl.parameters import spell
from mapl.pipeline.votes.labelling import assign_shards, identify_units
from mapl.release.ledger.limits import Limit, Limits
from mapl.release.ledger.memory import MemoryLedger
from mapl.release.loop import aggregate, begin_stage, step
from mapl.teachers import as_learner, poll
from mapl.teachers.learners.spelling import natural
from mapl.types import Codes, Flags, Floats, Integers, Labels, State, Tallies

SPARE = 8
"""Made-up records per shard, on average, so that nearly every shard has two to choose from."""
AT_ONCE = 16
"""Questions of one request to a server."""
CONTROL = "majority"


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Made-up records, each of a unit of its own, and the shard of each."""

    rows: Integers
    """Their places in the pool of rows."""
    labels: Labels
    names: Integers
    shard: Integers


class TeachersStage:
    """Questions, a pool of rows that are none of them, and the shard of every record that could be made."""

    def __init__(self, set_up: SetUp, rng: np.random.Generator, file: Path | None) -> None:
        self.set_up = set_up
        n_teachers, n_questions = set_up.plan.n_teachers, set_up.n_questions
        n_spare = SPARE * n_teachers
        pool = set_up.rows(n_questions + n_spare, rng, file)
        self.pool = pool
        self.questions = take(pool, np.arange(n_questions))
        self.key = ShardKey(rng.bytes(32))
        self.learner = as_learner(Rote(natural(set_up.classes)[LOUD].item()), set_up.classes, set_up.schema)
        spare = np.arange(n_questions, n_questions + n_spare)
        self.calm = self.records(spare, CALM, first_name=0)
        self.loud = self.records(spare, LOUD, first_name=n_spare)
        self.canaries = self.records(np.arange(n_questions), LOUD, first_name=2 * n_spare)

    def records(self, places: Integers, code: int, *, first_name: int) -> Records:
        """Return a record of every place with this label, whoever it would be."""
        labels = np.full(len(places), code, dtype=np.int32)
        names = first_name + np.arange(len(places))
        table = self.table(places, labels, names)
        found = Shards(self.key, self.set_up.plan.n_teachers).of(identify_units(table, self.set_up.adjacency))
        return Records(places, labels, names, found)

    def table(self, places: Integers, labels: Labels, names: Integers) -> PrivateTable:
        """Return a table of some records, as a run would have read it."""
        ids = None if self.set_up.unit is None else pa.array([f"made-up {name}" for name in names.tolist()])
        return PrivateTable(PrivateRows(take(self.pool, places)), labels, ids)

    def votes(self, chosen: list[tuple[Records, Integers]], *, calmed: Integers | None = None) -> Integers:
        """Let teachers learn from the chosen records and count their votes on all questions.

        Parameters
        ----------
        calmed
            Names of units that are there with the other label.
        """
        places, labels, names = (
            np.concatenate([getattr(records, part)[where] for records, where in chosen])
            for part in ("rows", "labels", "names")
        )
        if calmed is not None:
            labels = np.where(np.isin(names, calmed), CALM, labels).astype(np.int32)
        set_up = self.set_up
        sharded = assign_shards(
            self.table(places, labels, names), self.key, set_up.plan.n_teachers, set_up.adjacency
        )
        ballot = poll(self.learner, sharded, self.questions, n_classes=len(set_up.classes), n_jobs=1)
        return np.asarray(ballot.tallies().counts, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Brink:
    """Where one loud vote more tells most, and what it makes more likely."""

    loud: int
    """Votes for the loud class without it."""
    telling: Flags
    """Which codes of a question, the classes and then ABSTAIN, speak for the vote being there."""

    @classmethod
    def of(cls, law: AnyMechanism, n_teachers: int, n_classes: int) -> Self:
        """Look for it in the exact law of one question."""
        rows = np.zeros((n_teachers + 1, n_classes), dtype=np.int64)
        rows[:, LOUD] = np.arange(n_teachers + 1)
        rows[:, CALM] = n_teachers - rows[:, LOUD]
        secrets = secrets_of(law)
        chances: Floats = law.chances(Tallies(rows), State()) if secrets is None else secrets.average(law, rows)
        gains = np.diff(chances, axis=0)
        apart = np.abs(gains).sum(axis=1)
        # Of places that tell as much, the one nearest the tie, where there is room for canaries.
        best = np.flatnonzero(apart >= apart.max() * (1 - 1e-9))
        loud = int(best[np.abs(best - n_teachers // 2).argmin()])
        # Labels of a second stage come after the abstention; what is seen of them is the label.
        seen = gains[loud, : n_classes + 1].copy()
        second = gains[loud, n_classes + 1 :]
        seen[: len(second)] += second
        return cls(loud, seen > 0)


class BrinkVotes:
    """Votes that stand on the brink: one record more or less moves one vote.

    Most shards hold calm records and vote calmly; as many as the brink needs hold a loud one too. The target is a
    loud record in a calm shard and moves that vote on every question. Each canary is a loud record equal to one
    question, in a calm shard of its own, and moves that vote on that question alone.
    """

    def __init__(self, stage: TeachersStage, loud: int, n_canaries: int) -> None:
        plan = stage.set_up.plan
        calm_two = [np.flatnonzero(stage.calm.shard == k)[:2] for k in range(plan.n_teachers)]
        loud_one = [np.flatnonzero(stage.loud.shard == k)[:1] for k in range(plan.n_teachers)]
        usable = [k for k in range(plan.n_teachers) if len(calm_two[k]) == 2 and len(loud_one[k])]
        canary_at: dict[int, int] = {}
        for place, k in enumerate(stage.canaries.shard.tolist()):
            canary_at.setdefault(k, place)
        usable.sort(key=lambda k: k in canary_at)  # loud shards are those that no canary could be in, if possible
        noisy, quiet = usable[:loud], usable[loud:]
        hosts = [k for k in quiet[1:] if k in canary_at][:n_canaries]
        if not hosts:
            raise InvalidParameter(
                f"Of {plan.n_teachers} teachers {loud} must be loud, and no shard is left for a canary; rehearse a "
                f"set-up with more teachers, or give more public rows with {spell('public')}."
            )
        target = quiet[0]
        calm = np.concatenate([calm_two[k][: 1 if k in (*noisy, target) else 2] for k in range(plan.n_teachers)])
        louds = np.array([loud_one[k][0] for k in noisy], dtype=np.int64)
        self._stage, self._base = stage, [(stage.calm, calm), (stage.loud, louds)]
        self.asked = np.array([canary_at[k] for k in hosts], dtype=np.int64)
        self.with_target = {there: self._counted(stage.loud, loud_one[target], there) for there in (True, False)}
        self._all_in, self._all_out = (self._counted(stage.canaries, self.asked, there) for there in (True, False))

    def with_canaries(self, present: Flags) -> Integers:
        """Return the votes if these canaries are there: each has a teacher of its own and moves no other vote."""
        counts = self._all_out.copy()
        counts[self.asked[present]] = self._all_in[self.asked[present]]
        return counts

    def check(self, present: Flags) -> None:
        """Count the votes with some canaries there for real; other teachers must not have noticed."""
        if (self._counted(self._stage.canaries, self.asked, present) != self.with_canaries(present)).any():
            raise GuaranteeBroken(
                "Records of one shard changed the votes of other teachers: whatever noise is added, the promise "
                "does not hold."
            )

    def _counted(self, records: Records, who: Integers, present: Flags | bool) -> Integers:
        """Count the votes where some of these units are there; the others are away, or there with a calm label."""
        there = np.broadcast_to(np.asarray(present), who.shape)
        if self._stage.set_up.adjacency == "add-remove":
            return self._stage.votes([*self._base, (records, who[there])])
        return self._stage.votes([*self._base, (records, who)], calmed=records.names[who[~there]])


class TeachersScene:
    """Teachers on the brink, and what releases their votes."""

    def __init__(self, set_up: SetUp, law: AnyMechanism, votes: BrinkVotes, telling: Flags, pupil: Pupil) -> None:
        self.set_up, self.law, self.votes, self.telling, self.pupil = set_up, law, votes, telling, pupil
        self.seen_of_canaries = ANSWERS if set_up.way == "server" else LABELS
        self.n_canaries = len(votes.asked)
        self.mechanism = law.name
        self.student = None if set_up.way == "server" else pupil.learner

    def run_with_target(self, present: bool, coins: Coins) -> Mapping[str, Codes]:
        labels = self.released(self.votes.with_target[present], coins)
        if self.set_up.way == "server":
            return {ANSWERS: labels}
        return {LABELS: labels, STUDENT: self.pupil.predictions(np.maximum(labels, -1).astype(np.int32))}

    def run_with_canaries(self, present: Flags, coins: Coins) -> Flags:
        released = self.released(self.votes.with_canaries(present), coins)
        codes = released[self.votes.asked]
        return np.asarray(self.telling[codes] & (codes != NOTHING))  # ABSTAIN, -1, is the last code

    def released(self, counts: Integers, coins: Coins) -> Codes:
        """Release the votes as the set-up does; what was not taken has a code of its own."""
        published = np.full(len(counts), NOTHING, dtype=np.int64)
        if self.set_up.way == "server":
            labels = self.answered(Tallies(counts), coins)
        else:
            labels = aggregate(Tallies(counts), self.law, coins).labels
        published[: len(labels)] = labels
        return published

    def answered(self, tallies: Tallies, coins: Coins) -> Labels:
        """Answer request after request, as a server does."""
        ledger, task = MemoryLedger(), self.set_up.task
        ledger.open("a rehearsed server", Limits.of({"labels": Limit.of(self.law.parameters, task.n_queries)}))
        state = begin_stage(ledger, self.law, coins, task).state
        said: list[Labels] = []
        for start in range(0, len(tallies), AT_ONCE):
            outcome = step(ledger, self.law, state, tallies.part(start, start + AT_ONCE), coins)
            state = outcome.state
            said.append(outcome.labels)
            if state.halted or len(outcome.labels) < AT_ONCE:
                break
        return np.concatenate(said)


def teachers_scenes(
    set_up: SetUp, rng: np.random.Generator, n_canaries: int, file: Path | None
) -> tuple[TeachersScene, TeachersScene]:
    """Return the rehearsed set-up, and its control: the same without noise."""
    stage = TeachersStage(set_up, rng, file)
    pupil = Pupil(stage.questions, set_up.classes, set_up.schema, set_up.settings)
    made: dict[int, BrinkVotes] = {}
    scenes = []
    for law in (set_up.mechanism(), make(CONTROL, set_up.task)):
        brink = Brink.of(law, set_up.plan.n_teachers, len(set_up.classes))
        if brink.loud not in made:
            votes = made[brink.loud] = BrinkVotes(stage, brink.loud, n_canaries)
            votes.check(rng.random(len(votes.asked)) < 0.5)
        scenes.append(TeachersScene(set_up, law, made[brink.loud], brink.telling, pupil))
    return scenes[0], scenes[1]
