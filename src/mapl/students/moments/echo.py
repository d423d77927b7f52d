"""How much of a person's own label echoes in the scores of the words that were learned from it.

The sums of the words hold everybody's labels, and later rounds measure the scores of these words on the same
people: they look better than they will be for anybody else. By how much follows from how far sums of words were
believed, and from what texts look like, so that public rows tell it.
"""

from __future__ import annotations

import numpy as np

from mapl.data.encoding.scored_text import ScoredText
from mapl.data.moments.feature_map import UNIT
from mapl.data.moments.row_map import RowMap
from mapl.data.moments.words import word_vectors
from mapl.data.tables.rows import Rows
from mapl.students.moments.polarity import Polarities
from mapl.students.probabilities.log_sums import softmax
from mapl.types import Floats


def measure_echo(vectors: RowMap, weights: Floats, polarities: Polarities, rows: Rows) -> float:
    """Return by how much a person's own label raises the product of scores and label, by PUBLIC rows."""
    encoder = vectors.encoder
    assert isinstance(encoder, ScoredText)
    words = word_vectors(rows, encoder.texts, encoder.letters) / UNIT
    squares = words.multiply(words)
    own, usual = np.asarray(squares @ polarities.believed)[:, None], np.asarray(squares @ polarities.usual)
    encoded = encoder.transform(rows)
    n_classes, n_scores = weights.shape[1], encoder.polarities.shape[1]
    before = vectors.features(encoded) @ weights / UNIT
    chances = softmax(before)
    echo = 0.0
    for code in range(n_classes):
        label = np.eye(n_classes)[code] - 1 / n_classes
        beyond = own * label - usual
        part = beyond[:, 1:] - beyond[:, :1] if n_classes == 2 else beyond
        heard = encoded.copy()
        heard[:, :n_scores] += (part / encoder.spread).astype(np.float32)
        echo += float(chances[:, code] @ ((vectors.features(heard) @ weights / UNIT - before) @ label)) / len(own)
    return echo
