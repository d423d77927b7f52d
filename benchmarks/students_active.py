"""Active questions next to passive ones: accuracy against epsilon and against the number of questions.

The teachers vote once for each data set and seed, on a pool of public rows; every variant is released from those
votes. "Without privacy" asks for the exact plurality. The overlap experiment answers the question that LZCW21 leave
open: whether the rows that active learning chooses are those on which sparse vector (here the ladder) abstains.
"""

from __future__ import annotations

import hashlib
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import LABEL, load
from learn import World
from numpy.typing import NDArray

from mapl.data.drafts.draft_schema import draft_schema
from mapl.data.encoding.choice import encoder_for
from mapl.data.tables.classes import Classes
from mapl.data.tables.table import private_table
from mapl.data.units.shards import ShardKey
from mapl.errors import MaplError
from mapl.mechanisms import Task, make
from mapl.noise import SeededCoins
from mapl.pipeline.methods.active import ask, public_pool
from mapl.pipeline.place import Workplace
from mapl.pipeline.request import Request
from mapl.pipeline.votes.active_plan import plan_questions
from mapl.pipeline.votes.labelling import Effort, assign_shards, collect_votes, order_questions
from mapl.pipeline.votes.teachers_plan import plan_teachers
from mapl.planning.rules.teachers import teachers_for
from mapl.release import Limits, MemoryLedger, aggregate
from mapl.release.label_service import PrivatePool
from mapl.release.ledger.limits import Limit
from mapl.students.active import Active, Pool, interview
from mapl.students.strategies.names import strategy_of
from mapl.types import ABSTAIN, Budget, Tallies

DATA = ("mushroom", "a9a", "adult")
DELTA = 1e-5
POOL = 1000
"""Public rows; mushroom has 812."""
SHARES = (1 / 8, 1 / 4, 1 / 2, 1)
"""Questions, as shares of the pool."""
USUAL = 1 / 4
TEACHERS_AT = 1.0
"""The rule's number of teachers at this epsilon serves all epsilons, so that they vote once."""

PASSIVE, ACTIVE = "passive, link", "active (margin), link"
PASSIVE_LADDER, HYBRID = "passive, ladder", "hybrid: ladder, then active (margin), link"
NOT_PRIVATE = "without privacy"


@dataclass(frozen=True, slots=True)
class Room:
    """One split, its pool of public rows, the votes on them, and which rows were chosen so far."""

    world: World
    pool: Pool
    votes: Tallies
    chosen: dict[tuple[str, int, float | None], NDArray[np.int64]]

    @classmethod
    def of(cls, name: str, seed: int) -> Room:
        split = load(name, seed, n_public=None if name == "mushroom" else POOL)
        classes = Classes(split.classes)
        schema = draft_schema(split.public, label=LABEL, classes=classes.names)
        table = private_table(split.private, label=LABEL, classes=classes, schema=schema)
        encoder = encoder_for(schema, split.public)
        world = World(split, seed, table, classes, schema, encoder, Path(), {})
        key = ShardKey(hashlib.sha256(f"{name} {seed}".encode()).digest())
        spectral = world.request(TEACHERS_AT).spectral
        n_teachers, _ = teachers_for(len(table.labels), Budget(TEACHERS_AT, DELTA), spectral=spectral)
        sharded = assign_shards(table, key, n_teachers, "add-remove")
        with tempfile.TemporaryDirectory() as folder:
            place = Workplace(MemoryLedger(), Path(folder) / "ballot.npz")
            ballot = collect_votes(sharded, split.public, world.learner, place, len(classes), Effort(n_jobs=1))
        return cls(world, public_pool(split.public, schema, encoder, len(classes)), ballot.tallies(), {})

    def __len__(self) -> int:
        return len(self.votes)

    def questions(self, share: float) -> int:
        return max(1, round(share * len(self)))

    def request(self, epsilon: float) -> Request:
        return Request(Budget(epsilon, DELTA), self.world.classes, n_teachers=self.votes.n_teachers)

    def passive(self, epsilon: float, mechanism: str, n_asked: int) -> dict[str, Any]:
        """Ask about random rows, as `mapl learn --queries` does."""
        request = replace(self.request(epsilon), mechanism=mechanism, n_queries=n_asked)
        plan = plan_teachers(request, len(self))
        assert plan.choice is not None
        rows, codes = order_questions(len(self))[:n_asked], self.nothing()
        released = aggregate(Tallies(self.votes.counts[rows]), plan.choice.mechanism, self.coins)
        rows = rows[: len(released.labels)]
        codes[rows] = released.labels
        return self.measured(codes, len(rows), released.abstained)

    def active(self, epsilon: float, active: Active, n_asked: int) -> dict[str, Any]:
        """Choose the rows to ask about, as `mapl learn --strategy active` does."""
        request = replace(self.request(epsilon), n_queries=n_asked)
        plan, ledger = plan_questions(request, active, len(self)), MemoryLedger()
        ledger.open(plan.plan.digest, Limits.of_plan(plan.plan))
        asked = ask(self.votes, self.pool, plan, ledger, coins=self.coins)
        if plan.consensus is None and plan.plan.stage("labels").mechanism == "link":
            self.chosen[active.choice, n_asked, epsilon] = asked.labelled.asked
        chosen = len(ledger.progress("labels").labels)
        return self.measured(asked.codes, chosen, asked.labelled.released.abstained)

    def not_private(self, active: Active, n_asked: int) -> dict[str, Any]:
        """Choose rows and be told the exact plurality."""
        task = Task(Budget(float("inf"), 0.0), self.votes.n_teachers, self.votes.n_classes, n_asked)
        mechanism, ledger = make("majority", task), MemoryLedger()
        ledger.open("not private", Limits.of({"labels": Limit.of(mechanism.parameters, n_asked)}))
        service = PrivatePool(self.votes, mechanism, task, self.coins, ledger=ledger)
        codes = interview(active.inquiry(self.pool, n_asked), service)
        return self.measured(codes, len(service.asked))

    def measured(self, codes: Any, n_asked: int, abstained: int = 0) -> dict[str, Any]:
        """Train the default student and measure it; labels are compared with the truth for the table only."""
        known = codes != ABSTAIN
        if not known.any():
            return {"questions": n_asked, "accuracy": None}
        right = 100 * float((codes == self.world.split.public_labels)[known].mean())
        return {
            "questions": n_asked,
            "labels": int(known.sum()),
            "abstained": abstained,
            "label_accuracy": right,
            "accuracy": self.world.student_accuracy(codes),
        }

    def nothing(self) -> NDArray[np.int32]:
        return np.full(len(self), ABSTAIN, dtype=np.int32)

    @property
    def coins(self) -> SeededCoins:
        return SeededCoins(self.world.seed)


def measure(name: str, seed: int, epsilons: tuple[float, ...]) -> Iterator[dict[str, Any]]:
    """Yield one row for each variant, epsilon and number of questions."""
    room = Room.of(name, seed)
    facts = {
        "teachers": room.votes.n_teachers,
        "pool": len(room),
        "student": strategy_of("auto", room.world.schema).name,
    }
    for share in SHARES:
        n = room.questions(share)
        exact = room.nothing()
        rows = order_questions(len(room))[:n]
        exact[rows] = room.votes.values[rows]
        yield {
            "method": f"passive, {NOT_PRIVATE}",
            "epsilon": None,
            "share": share,
            **room.measured(exact, n),
            **facts,
        }
        if share < 1:
            row = room.not_private(Active(), n)
            yield {"method": f"active (margin), {NOT_PRIVATE}", "epsilon": None, "share": share, **row, **facts}
    for epsilon in epsilons:
        for method, share, run in variants(room, epsilon):
            try:
                row = run()
            except MaplError as refusal:  # a budget that could not answer a unanimous vote
                row = {"questions": 0, "accuracy": None, "refused": str(refusal)[:80]}
            yield {"method": method, "epsilon": epsilon, "share": share, **row, **facts}
        yield from overlap(room, epsilon)


def variants(room: Room, epsilon: float) -> Iterator[tuple[str, float, Any]]:
    """Yield every private variant: its name, its share of questions, and how it is run."""
    for share in SHARES:
        n = room.questions(share)
        yield PASSIVE, share, lambda n=n: room.passive(epsilon, "link", n)
        if share < 1:
            yield ACTIVE, share, lambda n=n: room.active(epsilon, Active(), n)
        if share <= USUAL:
            yield HYBRID, share, lambda n=n: room.active(epsilon, Active("margin", "hybrid"), n)
    yield PASSIVE_LADDER, 1, lambda: room.passive(epsilon, "ladder", len(room))
    n = room.questions(USUAL)
    for choice, service in (
        ("margin", "noisy-max"),
        ("margin", "ladder"),
        ("committee", "link"),
        ("robust-cal", "link"),
    ):
        active = Active(choice, service)
        yield f"active ({choice}), {service}", USUAL, lambda active=active: room.active(epsilon, active, n)


def overlap(room: Room, epsilon: float) -> Iterator[dict[str, Any]]:
    """Compare the rows that active learning chooses with those on which a ladder over the pool abstains.

    Only rows that the ladder took before it halted are compared. With as many rows drawn at random, the chosen ones
    would share an expected part with the abstentions: the chance that figures stand beside.
    """
    plan = plan_teachers(replace(room.request(epsilon), mechanism="ladder"), len(room))
    assert plan.choice is not None
    rows = order_questions(len(room))
    released = aggregate(Tallies(room.votes.counts[rows]), plan.choice.mechanism, room.coins)
    taken = rows[: len(released.labels)]
    abstained = np.zeros(len(room), dtype=np.bool_)
    abstained[taken[released.labels == ABSTAIN]] = True
    for choice in ("margin", "committee", "robust-cal"):
        asked = np.zeros(len(room), dtype=np.bool_)
        asked[room.chosen[choice, room.questions(USUAL), epsilon]] = True
        a, b = abstained[taken], asked[taken]
        both, either = int((a & b).sum()), int((a | b).sum())
        by_chance = a.sum() * b.sum() / len(taken)
        # How far the chosen rows' votes are from a tie, next to those of all rows; from the votes, so not private.
        distances = room.votes.distances
        yield {
            "method": f"overlap, {choice}",
            "epsilon": epsilon,
            "accuracy": None,
            "taken": len(taken),
            "abstained": int(a.sum()),
            "chosen": int(b.sum()),
            "both": both,
            "jaccard": both / max(1, either),
            "jaccard_by_chance": float(by_chance / max(1.0, a.sum() + b.sum() - by_chance)),
            "lift": float(both / by_chance) if by_chance else None,
            "abstained_if_chosen": both / max(1, int(b.sum())),
            "abstained_at_all": float(a.mean()),
            "distance_of_chosen": float(np.median(distances[asked])),
            "distance_of_all": float(np.median(distances)),
        }


def mean(rows: list[dict[str, Any]], what: str) -> float | None:
    values = [row[what] for row in rows if row.get(what) is not None]
    return statistics.mean(values) if values else None


def written(rows: list[dict[str, Any]]) -> str:
    """Lay the averages over seeds out as Markdown."""
    lines = [
        "## Active questions",
        "",
        f"Student accuracy in %, mean ± standard deviation over seeds; delta {DELTA:g}, add or remove one record. "
        "Private rows: the train split; the pool: public rows without labels from the test split, fewer than there "
        "are to save computing time; accuracy on the other half of it. Teachers: mapl's public rule at epsilon 1, "
        "for all epsilons; they vote once for each seed. Teachers, student and their settings are those of `mapl "
        "learn`, picked earlier on evaluation rows of these tables. Settings of active questions (10 batches, a "
        "short list of 10 batches, C = 0.1) are first guesses; five others were tried on seed 0 of mushroom and "
        "a9a at epsilon 1, none clearly better. robust-cal's directions and constant were set after six others "
        "had been tried there. One draw of coins for each seed. Questions that were asked in brackets; a hybrid's "
        "come after its ladder.",
    ]
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == data]
        lines += ["", *_accuracies(data, mine), "", *_half(mine), "", *_overlaps(mine)]
    return "\n".join(lines) + "\n"


def _accuracies(data: str, rows: list[dict[str, Any]]) -> list[str]:
    facts = rows[0]
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"]})
    lines = [
        f"### {data}: {facts['pool']} public rows, {facts['teachers']} teachers",
        "",
        "| method | questions | " + " | ".join(f"epsilon {e:g}" for e in epsilons) + " |",
        "|---" * (len(epsilons) + 2) + "|",
    ]
    told = [row for row in rows if not row["method"].startswith("overlap")]
    for method, share in sorted({(row["method"], row["share"]) for row in told}, key=_rank):
        cells = []
        for epsilon in epsilons:
            found = [
                row
                for row in told
                if (row["method"], row["share"]) == (method, share) and row["epsilon"] in (epsilon, None)
            ]
            cells.append(_cell(found))
        lines.append(f"| {method} | {share:.3g} of the pool | " + " | ".join(cells) + " |")
    return lines


def _cell(rows: list[dict[str, Any]]) -> str:
    values = [row["accuracy"] for row in rows if row["accuracy"] is not None]
    if not values:
        return "-"
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    fewer = "" if len(values) == len(rows) else f", {len(values)} of {len(rows)} seeds"
    return f"{statistics.mean(values):.2f}{spread} ({mean(rows, 'questions'):.0f}{fewer})"


def _half(rows: list[dict[str, Any]]) -> list[str]:
    """Compare active students of few questions with the best passive one, seed by seed."""
    lines = []
    for epsilon in sorted({row["epsilon"] for row in rows if row["epsilon"]}):
        of = {
            (method, share): [
                row["accuracy"]
                for row in rows
                if row["epsilon"] == epsilon and row["method"] == method and row.get("share") == share
            ]
            for method in (PASSIVE, ACTIVE)
            for share in SHARES
        }
        parts = []
        for share in SHARES[:-1]:
            for against in (1, share):
                pairs = [
                    a - p
                    for a, p in zip(of[ACTIVE, share], of[PASSIVE, against], strict=True)
                    if None not in (a, p)
                ]
                if pairs:
                    error = statistics.stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else 0.0
                    whom = "all" if against == 1 else "as many random"
                    parts.append(f"{share:.3g} against {whom}: {statistics.mean(pairs):+.2f} ± {error:.2f}")
        lines.append(
            f"- epsilon {epsilon:g}, active minus passive (link), ± standard error: " + "; ".join(parts) + "."
        )
    return lines


def _overlaps(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| a quarter of the pool, chosen by | epsilon | rows that a ladder took | abstained on | of chosen ones | "
        "lift | Jaccard | by chance | median distance to instability, chosen rows | all rows |",
        "|---" * 10 + "|",
    ]
    overlaps = [row for row in rows if row["method"].startswith("overlap")]
    for method, epsilon in sorted({(row["method"], row["epsilon"]) for row in overlaps}, key=lambda one: one[::-1]):
        found = [row for row in overlaps if (row["method"], row["epsilon"]) == (method, epsilon)]
        figures = {
            what: mean(found, what)
            for what in (
                *("taken", "abstained_at_all", "abstained_if_chosen", "lift", "jaccard", "jaccard_by_chance"),
                *("distance_of_chosen", "distance_of_all"),
            )
        }
        lift = "-" if figures["lift"] is None else f"{figures['lift']:.2f}"
        lines.append(
            f"| {method.removeprefix('overlap, ')} | {epsilon:g} | {figures['taken']:.0f} | "
            f"{figures['abstained_at_all']:.1%} | {figures['abstained_if_chosen']:.1%} | {lift} | "
            f"{figures['jaccard']:.2f} | {figures['jaccard_by_chance']:.2f} | "
            f"{figures['distance_of_chosen']:.0f} | {figures['distance_of_all']:.0f} |"
        )
    return lines


def _rank(one: tuple[str, float]) -> tuple[int, str, float]:
    method, share = one
    first = next((rank for rank, word in enumerate(("passive", "active", "hybrid")) if method.startswith(word)), 9)
    return first + (10 if NOT_PRIVATE in method else 0), method, share
