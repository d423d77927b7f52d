"""How a learner is measured on a public sample, for verbs that plan by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mapl.cli.console import progress_of, tell
from mapl.errors import InvalidData, InvalidParameter
from mapl.planning.question import MOST_CLASSES

if TYPE_CHECKING:
    from mapl.pipeline.rehearsed_plans import PublicSample
    from mapl.planning.vote_sample import VoteSample

VOTE_GROUPS = 64
"""By so many kinds of questions a file of public votes is summed up: enough for a plan, and quick."""


def measured_on(
    path: Path | None, *, label: str | None, learner: str | None, n_classes: int | None, quiet: bool
) -> PublicSample | None:
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
    from mapl.pipeline.rehearsed_plans import PublicSample
    from mapl.teachers import as_learner

    refuse_private_half(path)
    table = read_table(path, what="rows of the public sample")
    if label not in (names(table) or ()):
        raise InvalidData(f"{path} has no column {label!r}; name the column of its labels with --label.")
    given = declared(table, label=label, classes=None, unit=None, schema=None)
    if len(given.classes) > MOST_CLASSES:
        # Nothing of the file is quoted: it may be the wrong one.
        raise InvalidData(
            f"Column {label!r} of the public sample has {len(given.classes)} different values; plans are made for "
            f"2 to {MOST_CLASSES} classes. Name the column of the labels with --label."
        )
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
        teacher = as_learner(chosen, given.classes, given.schema, encoder)
        measured = measured_votes(
            teacher, sample.rows, sample.truth, n_classes=len(given.classes), on_progress=on_progress
        )
    return PublicSample(teacher, sample.rows, sample.truth, measured)


def refuse_several(**given: object) -> None:
    """Refuse, before any of them is read, several accounts of the same teachers."""
    options = {"public_sample": "--public-sample", "votes": "--votes", "agreement": "--agreement"}
    named = [
        options.get(name, "--error-at or --learning-curve") for name, value in given.items() if value is not None
    ]
    if len(named) > 1:
        raise InvalidParameter(
            f"Given were {' and '.join(named)}; each says what to expect of teachers, so give one of them only."
        )


def public_votes(path: Path | None) -> VoteSample | None:
    """Read vote counts of public questions, whose user vouches that they may be published."""
    if path is None:
        return None
    from mapl.planning.vote_sample import VoteSample
    from mapl.release.votes_file import read_votes

    refuse_private_half(path)
    tell(
        "mapl: the votes are treated as public: the plan tells about them. Votes of teachers that saw private rows "
        "do not qualify, least of all those that are to be aggregated."
    )
    return VoteSample.of(read_votes(path).tallies.counts, groups=VOTE_GROUPS)


def refuse_private_half(path: Path) -> None:
    """Refuse to plan by a file that lies in the private half of a run: what is planned by is public."""
    from mapl.pipeline.folder import RunFolder

    for folder in path.resolve().parents:
        run = RunFolder(folder.parent)
        if folder == run.private and (run.key.exists() or run.ledger.exists()):
            raise InvalidParameter(
                f"{path} lies in the private half of a run; plans are made of public facts alone, and whoever "
                "reads a plan learns about them. Give a file that may be published."
            )
