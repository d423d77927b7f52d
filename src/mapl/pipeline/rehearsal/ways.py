"""Moments and cells forecast on a public sample: runs played through, and what the sample lacks made up for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from mapl.data.tables.rows import Rows, n_rows
from mapl.data.tables.schema import Schema
from mapl.errors import MaplError
from mapl.pipeline.rehearsal.cells import play_cells
from mapl.pipeline.rehearsal.moments import play_moments
from mapl.pipeline.rehearsal.plans import PublicSample
from mapl.pipeline.rehearsal.stand_ins import FRESH, StandIns, draw_stand_ins
from mapl.pipeline.request import Request
from mapl.planning.planner.answer import Answer, SampleFacts
from mapl.planning.planner.ways import LearningWay
from mapl.types import RECORD, Floats, Labels, ShowProgress

Play = Callable[[Request, Schema, Rows, Labels, StandIns, int], float]
PLAYS: dict[str, Play] = {"moments": play_moments, "cells": play_cells}

TURNS = {"moments": (2, 6), "cells": (1, 1)}
DEALS = {"moments": FRESH, "cells": 2}
"""How many turns there are, at least and at most, and students in each; those of cells take seconds to learn."""

SURE = 0.0015
"""It ends as soon as the standard error of the forecast, for this sample, is below this."""

FEWEST_ROWS = {"moments": 100, "cells": 1000}
"""On a public sample of fewer rows nothing is rehearsed."""


@dataclass(frozen=True, slots=True)
class PlayedWay:
    """What students of a way of learning reach on rows that they have not seen, as a mean over runs.

    Parameters
    ----------
    accuracy
        Of a run with as many private and public rows as declared.
    error
        Twice the standard error of that: the luck of coins and of the sample, and half of what was made up for.
    made_up
        What of the accuracy was not seen, because the sample has fewer rows than a run, but follows from how much
        is lost with half as many.
    """

    accuracy: float
    error: float
    made_up: float


def rehearse_way(
    way: str,
    request: Request,
    schema: Schema,
    rows: Rows,
    labels: Labels,
    *,
    n_public: int,
    seed: int = 0,
) -> PlayedWay:
    """Play whole runs through on a public, labelled sample.

    Stand-ins for private rows count for several where the sample has fewer than declared, and the noise is that of
    the declared number. Then only their choice is more a matter of luck than it will be: students lose in
    proportion to 1 / rows by it, as long as they lose little. How much that is shows in what they lose with half
    of the stand-ins, and is given back. The same is done for public rows.

    Parameters
    ----------
    way
        moments or cells.
    request
        Budget, classes and the declared number of rows, which a rehearsal needs.
    n_public
        How many public rows the run will have.
    """
    assert request.n_rows is not None
    total, (fewest, most) = n_rows(rows), TURNS[way]
    if request.adjacency == "labels":
        n_public = 0
    deals = draw_stand_ins(total, n_private=request.n_rows, n_public=n_public, seed=seed)
    seen: list[float] = []
    made_up: list[float] = []
    for turn in range(most):
        found = [
            _played(PLAYS[way], request, schema, rows, labels, who, n_public, seed + FRESH * turn + number)
            for number, who in enumerate(islice(deals, DEALS[way]))
        ]
        seen.append(float(np.mean([one for one, _ in found])))
        made_up.append(float(np.mean([lost for _, lost in found])))
        both = np.add(seen, made_up)
        if turn + 1 >= fewest and _deviation(both) <= SURE:
            break
    lacking = max(float(np.mean(made_up)), 0.0)  # more rows do no harm
    accuracy = min(float(np.mean(seen)) + lacking, 1.0)
    tested = min(DEALS[way] / FRESH, 1.0) * total
    own = accuracy * (1 - accuracy) / tested
    error = 2 * math.sqrt(own + _deviation(both) ** 2 + (lacking / 2) ** 2)
    return PlayedWay(accuracy, error, lacking)


def rehearse_ways(found: Answer, sample: PublicSample, *, progress: ShowProgress) -> Answer:
    """Return the answer with moments and cells forecast on the public sample, where it has rows enough."""
    facts = SampleFacts(sample.label, sample.classes.names, commonest_share(sample.labels))
    known = replace(found, sample=facts)
    if not found.others:
        return known
    kinds = {column.kind for column in sample.schema.columns}
    ways = [way for way in found.others if way.method != "cells" or "text" not in kinds]
    played = []
    with progress("Rehearsing moments and cells", len(ways)) as on_progress:
        for done, way in enumerate(ways, start=1):
            enough = n_rows(sample.rows) >= FEWEST_ROWS[way.method]
            played.append(_rehearsed(way, found, sample) if enough else way)
            if on_progress is not None:
                on_progress(done)
    return replace(known, others=tuple(played))


def commonest_share(labels: Labels) -> float:
    """Return how often naming the commonest class is right."""
    return float(np.bincount(labels).max() / len(labels))


def _rehearsed(way: LearningWay, found: Answer, sample: PublicSample) -> LearningWay:
    """Forecast a way on the sample; one that it cannot be played through on stays what it is, without a figure."""
    question = found.question
    assert question.queries is not None
    try:
        request = Request(
            question.budget,
            sample.classes,
            n_rows=question.rows,
            method=way.method,
            adjacency=question.adjacency,  # type: ignore[arg-type]
            unit=None if question.unit == RECORD else question.unit,
        )
        made = rehearse_way(
            way.method, request, sample.schema, sample.rows, sample.labels, n_public=question.queries
        )
    except MaplError as refusal:
        words = f"It could not be rehearsed on the public sample: {refusal}"
        return replace(way, student_accuracy=None, forecast=None, assumes=(words,))
    seen = f"Whole runs were played through on parts of the {n_rows(sample.rows):,} public rows"
    if made.made_up:
        seen += (
            f", which are fewer than a run has; {100 * made.made_up:.1f} points follow from what is lost with half "
            "of them"
        )
    assumes = (f"{seen}.", "Private rows are like those of the sample, and every unit has one.")
    return replace(way, student_accuracy=made.accuracy, forecast="rehearsed", error=made.error, assumes=assumes)


def _played(
    play: Play,
    request: Request,
    schema: Schema,
    rows: Rows,
    labels: Labels,
    who: StandIns,
    n_public: int,
    seed: int,
) -> tuple[float, float]:
    """Return the accuracy of one student, and what it lacks for there being fewer rows than declared."""
    if request.adjacency == "labels":
        who = who.with_public_features()
    reached, lacking = play(request, schema, rows, labels, who, seed), 0.0
    if who.times > 1:
        lost = reached - play(request, schema, rows, labels, who.with_fewer_private(), seed)
        lacking += lost * (1 - 1 / who.times)
    if len(who.public) < n_public:
        lost = reached - play(request, schema, rows, labels, who.with_fewer_public(), seed)
        lacking += lost * (1 - len(who.public) / n_public)
    return reached, lacking


def _deviation(found: Floats) -> float:
    """Return the standard error of the mean of some turns; of one alone, what one is usually off by."""
    return float(np.std(found, ddof=1) / math.sqrt(len(found))) if len(found) > 1 else 2 * SURE
