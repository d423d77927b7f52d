"""The public map of a run by moments and what it is drawn from, by public rows and settings alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mapl.data.encoding.choice import encoder_for, with_bins
from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.scored_text import ScoredText
from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.public_map import Layout, draw_map
from mapl.data.moments.row_map import RowMap
from mapl.data.moments.words import WordResiduals, word_vectors
from mapl.data.tables.rows import Rows, n_rows, select
from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.parameters import spell
from mapl.pipeline.request import Request
from mapl.pipeline.sums.public_sample import MapSample, sample_public, share_of_equals
from mapl.pipeline.sums.targets import ClassTarget, NumberTarget, Target
from mapl.planning.rules.moments import (
    COARSE_BINS,
    FINE_BINS,
    MOST_EQUAL,
    WORDS_ALONE,
    WORDS_BESIDE,
    MomentsDesign,
    design_for,
    may_part,
)
from mapl.release.moment_sums import CHANGES, MomentSums
from mapl.students.moments.known_curvature import KnownCurvature, NoisyProducts
from mapl.students.moments.least_squares import LeastSquares
from mapl.students.moments.rounds import Refiner
from mapl.types import Floats, Singles

FEWEST_BINS, MOST_BINS = 3, 1024
"""Public bins for each number, and for all of them together; where that leaves fewer than three, there are none."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnMap:
    """A public map from rows to vectors, and what learns from sums of these."""

    vectors: RowMap
    refiner: Refiner
    public: Singles
    """The vectors of public rows, of norm at most 1."""

    target: Target

    def with_products(self, told: NoisyProducts) -> KnownCurvature | LeastSquares:
        """Return what learns where products of features were released, beside rows made up of declared facts."""
        exact = self.public.astype(np.float64)
        gram = told.gram(exact.T @ exact / len(exact), None)
        return self.target.follow(self.public, gram)


@dataclass(frozen=True, eq=False)
class MapMaker:
    """What a map is drawn from: public rows, encoders, and how far sums will stand out of the noise.

    Parameters
    ----------
    beside
        The encoder of all columns but texts, None where there are none.
    words
        What records add in the round of the words, None where there is no text.
    """

    public: MapSample
    beside: Encoder | None
    words: WordResiduals | None
    layout: Layout
    design: MomentsDesign
    signal: float
    target: Target
    declared: int | None
    """About how many units add to a round."""
    gains_by_rows: bool
    """Whether it would help to be told about how many units there are."""

    @property
    def n_classes(self) -> int:
        return self.target.n_classes

    def draw(self, polarities: Floats | None) -> DrawnMap:
        """Draw the map from public rows, and from how much words speak for classes where there is text."""
        return self._without_words if polarities is None else self._drawn(polarities)

    @cached_property
    def _without_words(self) -> DrawnMap:
        """The map of a table without text, which a plan, its rehearsal and its release need."""
        return self._drawn(None)

    def _drawn(self, polarities: Floats | None) -> DrawnMap:
        encoder: Encoder | ScoredText | None = self.beside
        if self.words is not None:
            assert polarities is not None
            encoder = ScoredText.of_public(self.public.rows, list(self.words.columns), polarities, self.beside)
        assert encoder is not None
        encoded = encoder.encode(self.public.rows)
        features = draw_map(
            encoded.toarray(), self.public.weights, self.layout, signal=self.signal, n_classes=self.n_classes
        )
        if self.words is not None:  # whose scores were not known when the plan was made
            features = features.widened(self.most_features)
        public = (features(encoded) / UNIT).astype(np.float32)
        vectors = RowMap(encoder, features)
        keep, declared = self.design.keep, self.declared
        weights, n_real = self.public.weights.astype(np.float32), self.public.n_real
        refiner = self.target.balance(public, weights, n_real, keep, declared, apart=self.design.apart)
        return DrawnMap(vectors, refiner, public, self.target)

    @property
    def most_features(self) -> int:
        """How many features a map may have."""
        return self.layout.n_others + sum(self.layout.bins) + 1

    @property
    def grain(self) -> float:
        """The mean entry of the vector of a public row's words."""
        assert self.words is not None
        entries = word_vectors(self.public.rows, self.words.columns).data / UNIT
        return float((entries**2).sum() / max(entries.sum(), 1e-9)) or 1.0


def make_map_maker(
    request: Request, questions: Rows, schema: Schema, *, made_up: bool, one_table: bool
) -> MapMaker:
    """Gather what maps are drawn from."""
    target: Target = ClassTarget(len(request.classes)) if request.number_range is None else NumberTarget()
    n_classes, n_public = target.n_classes, n_rows(questions)
    texts = tuple(column.name for column in schema.columns if column.kind == "text")
    if made_up and texts:
        raise InvalidParameter(
            f"Column {texts[0]!r} holds text, and there are no public rows: what texts look like cannot be "
            f"declared. Give some public rows with {spell('public')}, or a schema without it."
        )
    words = WordResiduals(texts, n_classes) if texts else None
    beside = _encoder(schema, questions)
    n_others = 0 if beside is None else len(beside.get_feature_names_out())
    if words is not None:
        n_others += 1 if n_classes == 2 else n_classes
    share = 0.0 if words is None else WORDS_ALONE if beside is None else WORDS_BESIDE
    # How much noise there will be hardly depends on how many numbers get some.
    nearly = MomentSums.for_budget(request.budget, entries=(1,), changes=CHANGES[request.adjacency])
    mu = math.sqrt(nearly.square) / nearly.changes
    design = design_for(n_public, n_others + 1, mu, words=share, made_up=made_up)
    fine, bins = False, tuple[int, ...]()
    if beside is not None:
        finely = _binned(beside, schema, FINE_BINS)
        n_columns = n_others + 1 + sum(finely[1])
        fine = not target.numeric and design.has_fine_bins(request.n_rows, n_public, n_columns, mu, n_classes)
        beside, bins = finely if fine else _binned(beside, schema, COARSE_BINS)
    layout = Layout(n_others, bins, fine and bool(bins))
    public = sample_public(questions, design.shuffled)
    if one_table and may_part(design, request.n_rows, mu):
        # By their content, records of which there are many alike would all be in one round.
        design = replace(design, apart=request.unit is not None or share_of_equals(public) <= MOST_EQUAL)
    signal = target.signal * design.signal(request.n_rows, n_public, mu, n_classes)
    declared = design.in_a_round(request.n_rows)
    gains = beside is not None and design.gains_by_rows(request.n_rows, n_public, mu, n_classes)
    return MapMaker(public, beside, words, layout, design, signal, target, declared, gains)


def _encoder(schema: Schema, public: Rows) -> Encoder | None:
    """Return the encoder of all columns but texts, without bins of numbers; None where there are texts alone."""
    if all(column.kind == "text" for column in schema.columns):
        return None
    known = _without_texts(schema)
    rows = public if len(known.columns) == len(schema.columns) else select(public, known.names)
    return with_bins(encoder_for(known, rows), known, bins=False, dense=True)


def _binned(encoder: Encoder, schema: Schema, wanted: int) -> tuple[Encoder, tuple[int, ...]]:
    """Return the encoder with the bins of its numbers last, at most so many for each, and how many each has."""
    known = _without_texts(schema)
    n_bins = min(wanted, MOST_BINS // max(1, sum(bool(column.cuts) for column in known.columns)))
    if n_bins < FEWEST_BINS:
        return encoder, ()
    known = known.coarsened(n_bins)
    return with_bins(encoder, known, bins=True, dense=True), tuple(
        len(column.cuts) + 1 for column in known.columns if column.cuts
    )


def _without_texts(schema: Schema) -> Schema:
    return replace(schema, columns=tuple(column for column in schema.columns if column.kind != "text"))
