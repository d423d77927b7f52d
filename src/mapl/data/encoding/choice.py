"""Which encoder rows get: the one place that decides it, for teachers and students alike."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.data.encoding.encoder import Encoder
from mapl.data.encoding.projection import Projection
from mapl.data.encoding.public_encoder import GRAPH_DIM, MOST_FITTED, N_SPECTRAL, PublicEncoder
from mapl.data.encoding.spectral import Spectral
from mapl.data.tables.rows import Rows, is_sparse
from mapl.data.tables.schema import Schema


def encoder_for(schema: Schema, public_rows: Rows) -> Encoder:
    """Return the encoder of a run, made once from its schema and PUBLIC rows.

    Images, and rows made of categories only, form groups; where a row stands among the public ones then says more
    than its cells. (Mushroom, epsilon 1: 96 to 98% by this.) Numbers do not: Adult and Credit Default lose by it.
    """
    kinds = {declared.kind for declared in schema.columns}
    if "image" in kinds or kinds == {"category"}:
        return PublicEncoder.fit_public(public_rows, schema)
    return Encoder.of(schema)


def make_shared_encoder(schema: Schema, public_rows: Rows, learners: Iterable[Any]) -> Encoder | None:
    """Return the encoder of a run, None where every learner is the user's own and encodes for itself."""
    wanted = any(learner is None or isinstance(learner, str) for learner in learners)
    return encoder_for(schema, public_rows) if wanted else None


def for_teachers(encoder: Encoder | None) -> Encoder | None:
    """Return what teachers see, whose shards are small: a few spectral coordinates."""
    return encoder.narrowed() if isinstance(encoder, PublicEncoder) else encoder


def sees_spectral(learner: Any, encoder: Encoder | None) -> bool:
    """Say whether teachers see spectral coordinates: named learners do, where the rows form groups."""
    return isinstance(learner, str) and isinstance(encoder, PublicEncoder)


def with_bins(encoder: Encoder | None, schema: Schema, *, bins: bool, dense: bool = False) -> Encoder:
    """Return an encoder with or without bins, as this schema cuts them; without an encoder, the schema's own.

    Parameters
    ----------
    dense
        Whether what it returns must not be sparse.
    """
    other = copy(Encoder.of(schema) if encoder is None else encoder)
    other.columns = [declared.to_dict() for declared in schema.columns]
    other.bins = bins
    if type(other) is Encoder:
        other.dense = dense
    return other


def spectral_coordinates(encoder: Encoder, public_rows: Rows) -> NDArray[np.float32]:
    """Return where each of the PUBLIC rows stands among them all."""
    encoded = encoder.transform(public_rows)
    if isinstance(encoder, PublicEncoder):
        own = encoded[:, : encoder.n_spectral]
        return np.asarray(own.toarray() if is_sparse(own) else own)
    dense = _dense(encoded)
    some = dense[np.random.default_rng(0).permutation(len(dense))[:MOST_FITTED]]
    projection = Projection.fit(some, dim=GRAPH_DIM)
    return Spectral.fit(projection(some), dim=N_SPECTRAL)(projection(dense))


def _dense(encoded: Any) -> NDArray[np.float32]:
    if not is_sparse(encoded):
        return np.asarray(encoded, np.float32)
    from sklearn.decomposition import TruncatedSVD

    width = min(GRAPH_DIM, *(size - 1 for size in encoded.shape))
    return np.asarray(TruncatedSVD(max(width, 1), random_state=0).fit_transform(encoded), np.float32)
