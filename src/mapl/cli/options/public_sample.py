"""How a learner is measured on a public sample, for verbs that plan by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mapl.cli.console import progress_of, tell, warn
from mapl.cli.options.columns import BY_OPTIONS
from mapl.errors import InvalidData, InvalidParameter
from mapl.planning.planner.question import MOST_CLASSES

if TYPE_CHECKING:
    from mapl.data.tables.column_choices import ColumnChoices
    from mapl.pipeline.rehearsal.plans import PublicSample
    from mapl.planning.votes.sample import VoteSample

VOTE_GROUPS = 64
"""By so many kinds of questions a file of public votes is summed up: enough for a plan, and quick."""


def measure_on_sample(
    path: Path | None,
    *,
    label: str | None,
    learner: str | None,
    n_classes: int | None,
    unit: str | None,
    choices: ColumnChoices,
    quiet: bool,
) -> PublicSample | None:
    """Train small teachers on a public sample; a column of ids is nothing to learn from."""
    if path is None:
        options = {
            "--label": label is not None,
            "--learner": learner is not None,
            "--drop": choices.drop,
            "--categories": choices.categories,
        }
        unused = next((option for option, there in options.items() if there), None)
        if unused is not None:
            raise InvalidParameter(f"{unused} belongs to --public-sample; give both, or none of them.")
        return None
    if label is None:
        raise InvalidParameter("A public sample needs --label, the column of its labels.")
    import pyarrow.compute as pc

    from mapl.cli.options.learner import learner_of
    from mapl.data import read_table
    from mapl.data.encoding.choice import for_teachers, make_shared_encoder
    from mapl.data.reading.entries import texts
    from mapl.data.tables.kinds import describe_kinds
    from mapl.data.tables.rows import column, n_rows, names, take
    from mapl.pipeline.rehearsal.curve import measure_votes, n_fits
    from mapl.pipeline.rehearsal.plans import PublicSample
    from mapl.pipeline.rehearsal.row_per_unit import draw_row_per_unit
    from mapl.pipeline.runs.inputs import declare, take_public_rows
    from mapl.teachers import as_learner

    refuse_private_half(path)
    table = read_table(path, what="rows of the public sample", as_text=choices.categories)
    if label not in (names(table) or ()):
        raise InvalidData(f"{path} has no column {label!r}; name the column of its labels with --label.")
    n_values = len(pc.unique(texts(column(table, label))).drop_null())
    if n_values > MOST_CLASSES:
        # Nothing of the file is quoted: it may be the wrong one.
        raise InvalidData(
            f"Column {label!r} of the public sample has {n_values} different values; plans are made for "
            f"2 to {MOST_CLASSES} classes. Name the column of the labels with --label."
        )
    if unit is not None and unit in (names(table) or ()):
        kept, total = draw_row_per_unit(column(table, unit)), n_rows(table)
        if len(kept) < total:
            table = take(table, kept)
            tell(
                f"mapl: of the sample one row of each {unit} counts, {len(kept):,} of {total:,}, as in a forecast."
            )
    given = declare(table, label=label, classes=None, unit=unit, schema=None, choices=choices)
    if n_classes is not None and n_classes != len(given.classes):
        raise InvalidParameter(
            f"--classes says {n_classes} and the sample has {len(given.classes)} classes; leave --classes away."
        )
    sample = take_public_rows(table, given, "public sample")
    assert sample.truth is not None
    chosen = learner_of(learner or "ridge")
    encoder = for_teachers(make_shared_encoder(given.schema, sample.rows, [chosen]))
    tell("mapl: the sample is treated as public; what is measured on it is not private.")
    tell(f"mapl: columns of the sample: {describe_kinds(given.schema)}; {BY_OPTIONS}.")
    for words in given.notices:
        warn(words)
    with progress_of(quiet=quiet)("Training small teachers", n_fits(n_rows(sample.rows))) as on_progress:
        teacher = as_learner(chosen, given.classes, given.schema, encoder)
        measured = measure_votes(
            teacher, sample.rows, sample.truth, n_classes=len(given.classes), on_progress=on_progress
        )
    return PublicSample(teacher, sample.rows, sample.truth, measured, given.classes, given.schema, given.label)


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
    from mapl.planning.votes.sample import VoteSample
    from mapl.release.files.votes import read_votes

    refuse_private_half(path)
    tell(
        "mapl: the votes are treated as public: the plan tells about them. Votes of teachers that saw private rows "
        "do not qualify, least of all those that are to be aggregated."
    )
    return VoteSample.of(read_votes(path).tallies.counts, groups=VOTE_GROUPS)


def refuse_private_half(path: Path) -> None:
    """Refuse to plan by a file that lies in the private half of a run: what is planned by is public."""
    from mapl.pipeline.runs.folder import RunFolder

    for folder in path.resolve().parents:
        run = RunFolder(folder.parent)
        if folder == run.private and (run.key.exists() or run.ledger.exists()):
            raise InvalidParameter(
                f"{path} lies in the private half of a run; plans are made of public facts alone, and whoever "
                "reads a plan learns about them. Give a file that may be published."
            )
