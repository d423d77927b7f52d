"""Which columns and words a linear student goes by, and how sure that is: for people to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.scored_text import ScoredText
from mapl.data.moments.feature_map import STEP_BITS
from mapl.data.moments.row_map import RowMap
from mapl.data.moments.words import words_of
from mapl.data.tables.classes import Classes
from mapl.data.tables.rows import Rows
from mapl.students.moments.rounds import Refined, SumRound
from mapl.types import Floats

MOST_WORDS = 200
COLUMN, WORD = "column", "word"
NOISE, FOR = "noise", "for "
"""What the columns of the public table are called: the noise of a line, and its effect on each class."""

UNITS, UNITS_NOISE = b"units", b"noise of units"
"""Where the public table keeps the noisy number of units, which belongs to no line."""


@dataclass(frozen=True, slots=True)
class NoisyCount:
    """About how many units there are, by all rounds together, and the deviation of its noise."""

    units: float
    noise: float

    @classmethod
    def of(cls, rounds: Sequence[SumRound], *, apart: bool) -> Self:
        """Weigh the counts of rounds by how exact they are; those about different units, equally exact, add up."""
        precision = sum(one.count_noise**-2 for one in rounds)
        times = len(rounds) if apart else 1
        mean = sum(one.count * one.count_noise**-2 for one in rounds) / precision
        return cls(times * mean, times * precision**-0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """By how much each column moves the score of each class, if it moves by its public deviation.

    A value of a category and a bin of a number are told beside the average public row.

    Parameters
    ----------
    names, kinds
        What each line is about: an encoded column, or a word.
    effects
        One line per name, one column per class; a score is the logarithm of a chance, up to what classes share,
        or a label itself that is a number, with a column for either end of its range. Words have polarities.
    noise
        The standard deviation that the noise of the sums gives these, for each line.
    count
        The noisy number of units.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    effects: Floats
    noise: Floats
    count: NoisyCount

    def to_table(self, classes: Classes) -> pa.Table:
        """Return it as a table, the strongest line first."""
        order = np.argsort(-np.abs(self.effects).max(axis=1), kind="stable")
        columns = {
            "what": pa.array([self.kinds[i] for i in order]),
            "name": pa.array([self.names[i] for i in order]),
            **{f"{FOR}{name}": pa.array(self.effects[order, k]) for k, name in enumerate(classes.names)},
            NOISE: pa.array(self.noise[order]),
        }
        kept = {UNITS: f"{self.count.units:.1f}", UNITS_NOISE: f"{self.count.noise:.1f}"}
        return pa.table(columns).replace_schema_metadata(kept)


def measure_strengths(
    vectors: RowMap,
    known: Refined,
    word_noise: Floats | None,
    public: Rows,
    classes: Classes,
    *,
    half: float | None = None,
    apart: bool = False,
) -> Strengths:
    """Measure the strengths of a student's columns on PUBLIC rows; nothing private has a part in it.

    Parameters
    ----------
    word_noise
        The deviation that noise gives the polarity of each word, where there are texts.
    half
        Half of the range of the labels, where these are numbers: effects on them are told as such.
    apart
        Whether every round is about other units.
    """
    encoder, weights, scale = vectors.encoder, known.weights, 1.0
    if half is not None:  # what moves a number towards one end moves it away from the other
        weights, scale = np.concatenate([-weights, weights], axis=1), half
    assert known.scatter is not None
    encoded = encoder.encode(public)
    seen = encoded.toarray()
    spread, mean = seen.std(axis=0, dtype=np.float64), seen.mean(axis=0, dtype=np.float64)
    lengths = vectors.features.lengths(encoded)
    # A row's vector is divided by its length; on average over public rows that is this much.
    turn = vectors.features.turn[:-1] * float(np.mean(1 / lengths)) * (1 << STEP_BITS)
    for group in _groups(encoder):  # what all values of a category share belongs to the constant
        turn[group] -= mean[group] @ turn[group]
    effects = scale * spread[:, None] * (turn @ (weights - weights.mean(axis=1, keepdims=True)))
    noise = scale * spread * np.sqrt(((turn @ known.scatter) ** 2).sum(axis=1))
    names = _names(encoder, classes)
    own = Strengths(names, (COLUMN,) * len(names), effects, noise, NoisyCount.of(known.rounds, apart=apart))
    if word_noise is None or not isinstance(encoder, ScoredText):
        return own
    words, polarities, noise_of_words = _strongest_words(encoder, word_noise, public, weights.shape[1])
    return Strengths(
        (*own.names, *words),
        (*own.kinds, *(WORD,) * len(words)),
        np.concatenate([own.effects, polarities]),
        np.concatenate([own.noise, noise_of_words]),
        own.count,
    )


def _groups(encoder: object) -> Iterator[slice]:
    """Yield where the values of each category stand in an encoded row, and the bins of each number."""
    if isinstance(encoder, ScoredText):
        n_scores = encoder.polarities.shape[1]
        yield from (slice(one.start + n_scores, one.stop + n_scores) for one in _groups(encoder.beside))
    elif isinstance(encoder, Encoder):
        yield from encoder.groups


def _names(encoder: object, classes: Classes) -> tuple[str, ...]:
    if not isinstance(encoder, ScoredText):
        return tuple(map(str, encoder.get_feature_names_out()))  # type: ignore[attr-defined]
    beside = () if encoder.beside is None else tuple(map(str, encoder.beside.get_feature_names_out()))
    words = f"words of {', '.join(encoder.texts)}"
    if encoder.polarities.shape[1] == 1:  # two classes share one score
        return (words, *beside)
    return (*(f"{words} for {name}" for name in classes.names), *beside)


def _strongest_words(
    encoder: ScoredText, noise: Floats, public: Rows, n_classes: int
) -> tuple[Sequence[str], Floats, Floats]:
    """Return the words of public rows with the strongest polarities; hashes of other words have no names."""
    words, places = words_of(public, encoder.texts, encoder.letters)
    polarities = encoder.polarities[places].astype(np.float64)
    if n_classes == 2:
        polarities = np.concatenate([-polarities, polarities], axis=1) / 2
    order = np.argsort(-np.abs(polarities).max(axis=1), kind="stable")[:MOST_WORDS]
    return [words[i] for i in order], polarities[order], noise[places[order]]
