"""How a learner is measured on a public sample, for verbs that plan by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mapl.cli.console import progress_of, tell
from mapl.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from mapl.planning.measured_votes import MeasuredVotes


def measured_on(
    path: Path | None, *, label: str | None, learner: str | None, n_classes: int | None, quiet: bool
) -> MeasuredVotes | None:
    """Train small teachers on a public sample."""
    if path is None:
        unused = "--label" if label is not None else "--learner" if learner is not None else None
        if unused is not None:
            raise InvalidParameter(f"{unused} belongs to --public-sample; give both, or none of them.")
        return None
    if label is None:
        raise InvalidParameter("A public sample needs --label, the column of its labels.")
    from mapl.cli.learner_option import learner_of
    from mapl.data import read_table
    from mapl.data.encoding import for_teachers, shared_encoder
    from mapl.data.rows import n_rows, names
    from mapl.pipeline.inputs import declared, public_rows
    from mapl.pipeline.measured_curve import measured_votes, n_fits
    from mapl.teachers import as_learner

    table = read_table(path, what="public sample")
    if label not in (names(table) or ()):
        raise InvalidData(f"{path} has no column {label!r}; name the column of its labels with --label.")
    given = declared(table, label=label, classes=None, unit=None, schema=None)
    if n_classes is not None and n_classes != len(given.classes):
        raise InvalidParameter(
            f"--n-classes is {n_classes} and the sample has {len(given.classes)} classes; leave --n-classes away."
        )
    sample = public_rows(table, given, "public sample")
    assert sample.truth is not None
    chosen = learner_of(learner or "ridge")
    encoder = for_teachers(shared_encoder(given.schema, sample.rows, [chosen]))
    tell("mapl: the sample is treated as public; what is measured on it is not private.")
    with progress_of(quiet=quiet)("Training small teachers", n_fits(n_rows(sample.rows))) as on_progress:
        return measured_votes(
            as_learner(chosen, given.classes, given.schema, encoder),
            sample.rows,
            sample.truth,
            n_classes=len(given.classes),
            on_progress=on_progress,
        )
