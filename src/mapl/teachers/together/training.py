"""From shards to weights: the teachers of a batch, each from its own rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.tables.rows import Rows, is_sparse
from mapl.data.units.shards import Sharded
from mapl.teachers.learners.spelling import natural
from mapl.teachers.panel.linear import LinearPanel
from mapl.teachers.panel.linear_weights import MOST, Weights
from mapl.teachers.together.family import Solved, Stack, TeacherFamily
from mapl.teachers.together.networks import Network, Networks
from mapl.teachers.together.recognition import Syllabus, sound
from mapl.types import Flags, Floats, Labels, Silent

NUMBERS_AT_ONCE = 1 << 18
"""A stack of about 2 MB stays near the processor."""


@dataclass(slots=True, repr=False)
class TrainedTogether(Silent):
    """What became of some teachers. Private.

    ``weights`` has None for a teacher with nothing to learn from, which casts the fallback vote; ``left`` are those
    that must be trained one by one, since something in their shard is unusual.
    """

    weights: dict[int, Weights | Network | None] = field(default_factory=dict)
    own_errors: dict[int, tuple[int, int]] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, repr=False)
class ShardLesson(Silent):
    """What a teacher learns from: numbers, and the place of each row's class among those of the shard. Private."""

    k: int
    rows: Floats
    places: NDArray[np.int64]
    codes: NDArray[np.int64]
    tested: tuple[Floats, Labels] | None


def train_together(
    syllabus: Syllabus, sharded: Sharded, held_out: Flags | None, teachers: Sequence[int]
) -> TrainedTogether:
    """Train some teachers. What becomes of each is a function of its own shard, and of public things."""
    trained = TrainedTogether()
    study(syllabus, make_lessons(syllabus, sharded, held_out, teachers, trained), trained)
    return trained


def study(syllabus: Syllabus, lessons: Iterable[ShardLesson], trained: TrainedTogether) -> None:
    """Learn every lesson, and note what became of it. Lessons of one shape are stacked; all else keeps apart."""
    groups: dict[tuple[int, int], list[ShardLesson]] = {}
    for lesson in lessons:
        groups.setdefault((len(lesson.rows), len(lesson.codes)), []).append(lesson)
    with np.errstate(all="ignore"):
        for (n, _), group in groups.items():
            width = n if syllabus.family.narrows else max(n, group[0].rows.shape[1])
            at_once = max(1, NUMBERS_AT_ONCE // (n * width))
            if isinstance(syllabus.family, Networks):
                size = max(n * width, 8 * syllabus.family.n_weights(width))
                at_once = max(1, NUMBERS_AT_ONCE // size)
            for start in range(0, len(group), at_once):
                _learn(syllabus, group[start : start + at_once], trained)


def make_lessons(
    syllabus: Syllabus, sharded: Sharded, held_out: Flags | None, teachers: Sequence[int], trained: TrainedTogether
) -> list[ShardLesson]:
    """Return what teachers learn from; note those with nothing to learn, and those that are left to workers."""
    handed = [sharded.members(k) for k in teachers]
    bounds = np.concatenate([[0], np.cumsum([len(members) for members in handed])]).tolist()
    everybody = np.concatenate(handed)
    labels = sharded.labels[everybody]
    aside = np.zeros(len(labels), dtype=np.bool_) if held_out is None else held_out[everybody]
    rank = np.argsort(np.argsort(natural(syllabus.classes)))  # learners know classes in the order of their names
    present, places = _present_classes(rank[labels], aside, bounds, len(rank))
    codes_by_rank, n_present = np.argsort(rank), np.count_nonzero(present, axis=1).tolist()
    lessons, as_they_are = [], isinstance(syllabus.family, Networks)
    for at, (k, rows) in enumerate(_encoded(syllabus.encoder, sharded, teachers, bounds, as_they_are)):
        own = slice(bounds[at], bounds[at + 1])
        if n_present[at] < 2:
            trained.weights[k] = None
        elif rows is None or not sound(rows):
            trained.left.append(k)
        else:
            codes, tested, learned = codes_by_rank[present[at]], None, places[own]
            if held_out is not None:
                kept = ~aside[own]
                tested = rows[~kept], labels[own][~kept]
                rows, learned = rows[kept], learned[kept]
            lessons.append(ShardLesson(k, rows, learned, codes, tested))
    return lessons


def _present_classes(
    ranks: NDArray[np.int64], aside: Flags, bounds: Sequence[int], n_classes: int
) -> tuple[Flags, NDArray[np.int64]]:
    """Return which classes each shard learns about, and the place of every row's class among those of its shard.

    Whatever a shard's line says is read off rows of that shard alone.
    """
    shard = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    present = np.zeros((len(bounds) - 1, n_classes), dtype=np.bool_)
    present[shard[~aside], ranks[~aside]] = True
    return present, (np.cumsum(present, axis=1, dtype=np.int64) - 1)[shard, ranks]


def _encoded(
    encoder: Any, sharded: Sharded, teachers: Sequence[int], bounds: Sequence[int], as_they_are: bool
) -> Iterator[tuple[int, Floats | None]]:
    """Yield shards as numbers, None for one that cannot be made such.

    Numbers of 32 bits stay what they are for those that compute with them.

    mapl's own encoder looks at each cell alone, so it is given many shards at once; others see one at a time.
    """
    together = None
    from mapl.data.encoding.encoder import Encoder  # brings scikit-learn along

    if encoder is None or type(encoder) is Encoder:
        rows, _ = sharded.shards_of(teachers)
        together = _numbers(encoder, rows, as_they_are)
    for place, k in enumerate(teachers):
        if together is not None:
            yield k, together[bounds[place] : bounds[place + 1]]
        else:
            rows, labels = sharded.shard(k)
            yield k, _numbers(encoder, rows, as_they_are) if len(labels) else None


def _numbers(encoder: Any, rows: Rows, as_they_are: bool) -> Floats | None:
    """Return rows as numbers, None where they cannot be: whoever trains one by one says what that means."""
    try:
        numbers = rows if encoder is None else encoder.transform(rows)
        if is_sparse(numbers) or not isinstance(numbers, np.ndarray):
            return None
        short = as_they_are and numbers.dtype == np.float32
        return np.ascontiguousarray(numbers, dtype=np.float32 if short else np.float64)
    except Exception:
        return None


def _learn(syllabus: Syllabus, group: list[ShardLesson], trained: TrainedTogether) -> None:
    rows, places = ([getattr(lesson, name) for lesson in group] for name in ("rows", "places"))
    stack = Stack(
        np.concatenate(rows).reshape(len(group), *rows[0].shape),
        np.concatenate(places).reshape(len(group), -1),
        len(group[0].codes),
        tuple(lesson.k for lesson in group),
    )
    try:
        learned = _learned(syllabus, stack, [lesson.codes for lesson in group])
    except Exception:  # of whichever shard; each is tried by itself, and one that fails alone is left to a worker
        if len(group) == 1:
            trained.left.append(group[0].k)
        else:
            for lesson in group:
                _learn(syllabus, [lesson], trained)
        return
    for lesson, teacher in zip(group, learned, strict=True):
        if teacher is None:
            trained.left.append(lesson.k)
            continue
        trained.weights[lesson.k] = teacher
        if lesson.tested is not None:
            trained.own_errors[lesson.k] = _own_errors(syllabus, teacher, *lesson.tested)


def _learned(
    syllabus: Syllabus, stack: Stack, codes: Sequence[NDArray[np.int64]]
) -> Sequence[Weights | Network | None]:
    """Return the teacher of every shard of a stack, None for one that is left to a worker."""
    if isinstance(syllabus.family, Networks):
        return syllabus.family.learn(stack, codes)
    solved = _solve(syllabus, syllabus.family, stack)
    within = np.abs(solved.coef).max(axis=(1, 2), initial=0.0) <= MOST
    within &= np.abs(solved.intercept).max(axis=1, initial=0.0) <= MOST
    usable = (within & solved.settled).tolist()
    return [
        Weights(solved.coef[place], solved.intercept[place], codes[place]) if usable[place] else None
        for place in range(len(stack))
    ]


def _solve(syllabus: Syllabus, family: TeacherFamily, stack: Stack) -> Solved:
    if syllabus.scaling is None:
        return family.solve(stack)
    middle, scale = syllabus.scaling.fit(stack)
    solved = family.solve(syllabus.scaling.apply(stack, middle, scale))
    return syllabus.scaling.take_back(solved, middle, scale)


def count_teachers(
    syllabus: Syllabus, teachers: Sequence[Weights | Network], rows: Any, n_classes: int
) -> NDArray[np.int32]:
    """Count one vote of each of some teachers on every row."""
    linear = [one for one in teachers if isinstance(one, Weights)]
    if linear:
        assert not isinstance(syllabus.family, Networks)
        features = syllabus.family.features(rows)
        panel = LinearPanel.of(linear, n_features=features.shape[1], n_classes=n_classes)
        return panel.votes(features).counts.astype(np.int32, copy=False)
    counts = np.zeros((len(rows), n_classes), dtype=np.int32)
    for one in teachers:
        if isinstance(one, Network):
            counts[np.arange(len(rows)), one.votes(rows)] += 1
    return counts


def _own_errors(syllabus: Syllabus, teacher: Weights | Network, rows: Floats, labels: Labels) -> tuple[int, int]:
    """Return how many of the rows that were kept from a teacher it gets wrong, and how many there are."""
    if not len(labels):
        return 0, 0
    votes = count_teachers(syllabus, [teacher], rows, len(syllabus.classes)).argmax(axis=1)
    return int(np.count_nonzero(votes != labels)), len(labels)
