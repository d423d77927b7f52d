"""From a private table to noisy sums, and from them to a model: round by round, one charge for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mapl.data.moments.contributions import Clip, Contribution, Crowd, sum_contributions
from mapl.data.moments.crowd_parts import CrowdParts
from mapl.data.moments.products import Products
from mapl.data.moments.row_map import KeptVectors, RowMap, Vectors
from mapl.data.moments.words import TOTAL
from mapl.data.tables.rows import Rows, take
from mapl.data.tables.table import PrivateTable
from mapl.data.units.shards import ShardKey
from mapl.engines.cluster import Cluster
from mapl.engines.files import folder_afar
from mapl.errors import GuaranteeBroken
from mapl.noise import Coins
from mapl.pipeline.place import Workplace
from mapl.pipeline.sums.map_maker import DrawnMap, MapMaker
from mapl.pipeline.sums.moments_plan import PlannedMoments
from mapl.pipeline.sums.summing_afar import CrowdAfar
from mapl.pipeline.sums.targets import DEVIATION, Target
from mapl.pipeline.votes.labelling import Labelled
from mapl.release import Ledger, Limits, Released, Statement
from mapl.release.statement.moment_statement import state_sums
from mapl.students.moments.echo import measure_echo
from mapl.students.moments.known_curvature import NoisyProducts
from mapl.students.moments.polarity import Polarities, WordSums
from mapl.students.moments.recalibration import recalibrate
from mapl.students.moments.rounds import Refined, count_units
from mapl.students.moments.strengths import Strengths, measure_strengths
from mapl.students.moments.student import MomentsLesson
from mapl.types import Floats, Silent, State


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """What the sums of a run say about the public rows; everything here is public."""

    labelled: Labelled
    lesson: MomentsLesson
    strengths: Strengths


def sum_up(
    table: PrivateTable,
    questions: Rows,
    planned: PlannedMoments,
    place: Workplace,
    *,
    coins: Coins,
    key: ShardKey,
    on_progress: Callable[[int], None] | None = None,
    cluster: Cluster | None = None,
) -> Summed:
    """Release all rounds of sums, each computed with the model of those before it.

    Called again with the same arguments after a crash, it goes on in the round that it was in.

    Parameters
    ----------
    key
        By whose coins units are parted, where each adds to one round only.
    cluster
        Whose workers add up, in place of this process.

    Notes
    -----
    *Guarantee.* The plan's budget, for the adjacency and unit in the returned statement. Proof:
    docs/proofs/moments.md.
    """
    plan = planned.plan
    place.ledger.open(plan.digest, Limits.of_plan(plan))
    crowd, scratch = Crowd.of(table), nullcontext() if cluster is None else folder_afar(place.scratch)
    mechanism = planned.stage.mechanism
    parts = CrowdParts.of(table, crowd, key, len(mechanism.entries)) if mechanism.apart else None
    with scratch as folder:
        afar = None if cluster is None or folder is None else CrowdAfar(cluster, folder, keep=parts is None)
        followed = follow_rounds(planned, Rounds(planned, crowd, coins, place.ledger, on_progress, afar, parts))

    def state(released: Released) -> Statement:
        return state_sums(
            mechanism,
            planned.stage.name,
            released,
            plan.stages[0].budget,
            coins,
            n_classes=len(planned.request.classes),
            promise=planned.promise,
            plan_digest=plan.digest,
            ledger_head=place.ledger.head,
        ).recorded_by(place.ledger)

    return conclude(planned, followed, questions, state)


def conclude(
    planned: PlannedMoments, followed: Followed, questions: Rows, state: Callable[[Released], Statement]
) -> Summed:
    """Make lesson and labels of what all rounds led to, which is post-processing, and state what was released."""
    drawn, known, polarities = followed.drawn, followed.known, followed.polarities
    lesson = MomentsLesson(drawn.vectors, known.weights, known.level)
    word_noise = None if polarities is None else polarities.noise
    request, public = planned.request, planned.maker.public.rows
    half = None if request.number_range is None else request.number_range.half
    apart = planned.stage.mechanism.apart
    strengths = measure_strengths(drawn.vectors, known, word_noise, public, request.classes, half=half, apart=apart)
    # Vectors of public rows are at hand, but where there are more than a map is drawn from.
    if questions is public:
        scores = drawn.public.astype(np.float64) @ known.weights + known.level
    else:
        scores = lesson.scores(questions)
    return Summed(_labelled(planned, scores, state), lesson, strengths)


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """The map, the model that all rounds led to, and how much words speak for classes where there is text."""

    drawn: DrawnMap
    known: Refined
    polarities: Polarities | None


class ToldRounds(Protocol):
    """Who tells noisy sums, one round after the other: a release, or a rehearsal on public rows."""

    done: int

    def prepare(self, vectors: RowMap, width: int) -> Vectors:
        """Return what vectors are made of from now on."""

    def tell(self, contribution: Contribution) -> Floats:
        """Return the next round, in deviations of its noise."""


def follow_rounds(planned: PlannedMoments, rounds: ToldRounds) -> Followed:
    """Ask for all rounds of a plan, each with the model of those before it."""
    maker, polarities = planned.maker, None
    if maker.words is not None:
        polarities = read_words(rounds.tell(maker.words), planned).polarities()
    drawn = maker.draw(None if polarities is None else polarities.means)
    width = drawn.vectors.features.width
    vectors = rounds.prepare(drawn.vectors, width)
    target, refiner = maker.target, drawn.refiner
    known = Refined.start(width, target.n_columns)
    if maker.design.products:
        products = Products(vectors, width, maker.n_classes, target.numeric)
        told = read_products(rounds.tell(products), planned.clip(0), known, target)
        refiner = drawn.with_products(told)
        known = refiner.begin(known, told.slopes)
    while rounds.done < len(planned.stage.mechanism.entries):
        clip = planned.clip(rounds.done)
        sums = rounds.tell(target.residuals(vectors, known))
        known = refiner.refine(known, target.read(sums[:-1].reshape(width, -1), known, clip, float(sums[-1])))
    known = agree_with_totals(known, drawn, maker, polarities)
    return Followed(drawn, known, polarities)


def agree_with_totals(known: Refined, drawn: DrawnMap, maker: MapMaker, polarities: Polarities | None) -> Refined:
    """Let probabilities agree with the first sums, by public rows; without such, and of numbers, a model stays."""
    if maker.design.products or maker.target.numeric:
        return known
    public, echo = maker.public, 0.0
    if polarities is not None:
        real = take(public.rows, np.arange(public.n_real, dtype=np.int64))
        echo = measure_echo(drawn.vectors, known.weights, polarities, real)
    units = count_units(known.rounds, maker.declared)
    return recalibrate(known, drawn.public[: public.n_real], units=units, echo=echo)


@dataclass(slots=True, repr=False)
class Rounds(Silent):
    """The rounds of a run, one after the other: those on record are read, and others released."""

    planned: PlannedMoments
    crowd: Crowd
    coins: Coins
    ledger: Ledger
    on_progress: Callable[[int], None] | None
    afar: CrowdAfar | None = None
    parts: CrowdParts | None = None
    """Who adds to which round, where everybody adds to one only."""
    done: int = 0
    told: tuple[Floats, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.planned.stage.mechanism.apart != (self.parts is not None):
            raise GuaranteeBroken(
                "Rounds about different units are paid for otherwise than such about all of them."
            )
        self.told = self.planned.stage.begin(self.coins, self.ledger)

    def prepare(self, vectors: RowMap, width: int) -> Vectors:
        """Encode everybody once, where that fits into memory, and return what vectors are made of from then on."""
        all_told = len(self.told) == len(self.planned.stage.mechanism.entries)
        once = all_told or self.afar is not None or self.parts is not None
        ready = None if once else self.crowd.prepared(vectors, width)
        if ready is None:
            return vectors
        self.crowd = ready
        return KeptVectors()

    def tell(self, contribution: Contribution) -> Floats:
        """Return the next round; a killed run that goes on reads what it released."""
        if self.done == len(self.told):
            clip = self.planned.clip(self.done)
            crowd = self.crowd if self.parts is None else self.parts.part(self.done)
            if self.afar is None:
                sums = sum_contributions(crowd, contribution, clip)
            else:
                sums = self.afar.add_up(crowd, contribution, clip)
            self.told = self.planned.stage.release(sums, self.coins, self.ledger)
        self.done += 1
        if self.on_progress is not None:
            self.on_progress(self.done)
        return self.told[self.done - 1]


def read_products(told: Floats, clip: Clip, known: Refined, target: Target) -> NoisyProducts:
    """Return the release of products in units of the contributions."""
    width = len(known.weights)
    sums = told[:-1].reshape(width, -1)
    slopes = target.read(sums[:, width:], known, clip, float(told[-1]))
    return NoisyProducts(sums[:, :width] * DEVIATION * clip.in_value(), slopes)


def read_words(told: Floats, planned: PlannedMoments) -> WordSums:
    """Return the release of words in units of the contributions, without what classes have in common."""
    words = planned.maker.words
    assert words is not None
    step = DEVIATION * planned.clip(0).in_value()
    sums = told[:-1].reshape(words.shape) * step
    signed = sums[:, :-1] - sums[:, :-1].mean(axis=1, keepdims=True)
    noise = step * math.sqrt(1 - 1 / words.n_classes)
    return WordSums(signed, sums[:, -1] / TOTAL, noise, step / TOTAL, planned.maker.grain)


def _labelled(planned: PlannedMoments, scores: Floats, state: Callable[[Released], Statement]) -> Labelled:
    """Label the public rows by the model's scores, which is post-processing, and state what was released."""
    n, known = len(scores), planned.request.number_range
    numbers = None if known is None else known.restored(scores[:, 0])
    codes = (scores.argmax(axis=1) if known is None else scores[:, 0] >= 0).astype(np.int32)
    released = Released(codes, None, State(n, 0, True), n)
    asked, mechanism = np.arange(n, dtype=np.int64), planned.stage.mechanism
    return Labelled(released, asked, n, mechanism, planned.plan.why, state(released), numbers=numbers)
