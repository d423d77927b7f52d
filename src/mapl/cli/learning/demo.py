"""``mapl demo``: the whole job on a made-up clinic whose truth is known."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mapl.cli.console import out, progress_of
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.budget import check_delta
from mapl.cli.options.running import AsJson
from mapl.errors import InvalidParameter
from mapl.release.statement.statement import to_json
from mapl.types import Budget, Labels

if TYPE_CHECKING:
    from mapl.data.tables.rows import Rows

MARKER = ".mapl-demo"
N_PRIVATE, N_PUBLIC, N_TEST = 60_000, 5_000, 5_000
N_PATIENTS = 24_000
"""About how many patients so many visits belong to; the one public fact about the private table."""


def demo(
    to: Path = option(
        panels.RUNNING, "Folder of the demo; an earlier demo's is replaced.", Path("mapl-demo"), "--out"
    ),
    epsilon: float = option(panels.BUDGET, "Privacy budget.", 1.0),
    delta: float = option(panels.BUDGET, "Failure probability.", 1e-6),
    as_json: AsJson = False,
) -> None:
    """Learn privately from 60,000 visits of made-up patients, and compare with learning without privacy."""
    from mapl.cli.learning.learn_wording import as_record, table
    from mapl.cli.learning.report import write_report_of
    from mapl.data.synthetic import CLASSES, LABEL, UNIT
    from mapl.data.tables.classes import Classes
    from mapl.pipeline.learners import Learners
    from mapl.pipeline.request import Request
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.pipeline.runs.run import learn_in_folder
    from mapl.pipeline.runs.tables import Tables
    from mapl.pipeline.watch import Watch

    check_delta(delta)
    classes = Classes(CLASSES)
    request = Request(Budget(epsilon, delta), classes, n_rows=N_PATIENTS, unit=UNIT, method="auto")
    refuse_foreign(to)
    if not as_json:
        out.print(
            f"A made-up clinic: {N_PRIVATE:,} private visits of about {N_PATIENTS:,} patients, {N_PUBLIC:,} public "
            "visits without labels. Protected is a patient with all visits."
        )
    best = prepare(to)
    tables = Tables(
        to / "private.parquet", LABEL, to / "public.parquet", unit=UNIT, classes=classes, groups=("region",)
    )
    folder = RunFolder(to / "run")
    watch = Watch(progress_of(quiet=as_json))
    learned = learn_in_folder(tables, request, Learners(), folder, watch=watch)
    reference = without_privacy(to)
    evaluation = write_report_of(folder, test=to / "test.parquet", reference=reference)
    folder.finish()
    if as_json:
        record = as_record(learned, evaluation, folder.path)
        typer.echo(to_json({**record, "accuracy_without_privacy": reference, "best_accuracy": best}))
        return
    out.print(table(learned, evaluation, folder.path))
    out.print(
        f"Without any privacy a linear model of all visits is right on {reference:.2%}, and nobody can do better "
        f"than {best:.2%} here. (With real patients the first figure would be private; these are made up.)"
    )
    out.print("Open the report in a browser:", str(folder.report), soft_wrap=True)
    out.print("The same by hand, on your own tables with other names (learning again spends again):")
    out.print(
        f"  mapl learn {to}/private.parquet --public {to}/public.parquet --label {LABEL} --classes "
        f"{','.join(CLASSES)} --unit {UNIT} --rows {N_PATIENTS} --epsilon {epsilon:g} --delta {delta:g} --out own",
        soft_wrap=True,
    )
    out.print(f"  mapl predict {folder.student} {to}/test.parquet --out predictions.csv", soft_wrap=True)


def prepare(folder: Path) -> float:
    """Write the made-up tables, replacing an earlier demo; return the accuracy that no model can beat."""
    import pyarrow.parquet

    from mapl.data.synthetic import LABEL, Clinic, best_accuracy

    clinic = Clinic()
    try:
        if (folder / MARKER).is_file():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).touch()
        private, _ = clinic.visits(N_PRIVATE, stream=0)
        public, _ = clinic.visits(N_PUBLIC, stream=1)
        test, chance = clinic.visits(N_TEST, stream=2)
        pyarrow.parquet.write_table(private, folder / "private.parquet")
        pyarrow.parquet.write_table(public.drop_columns([LABEL]), folder / "public.parquet")
        pyarrow.parquet.write_table(test, folder / "test.parquet")
    except OSError as failure:
        raise InvalidParameter(
            f"{folder} cannot be written ({failure.strerror}); choose another folder with --out."
        ) from None
    return best_accuracy(chance)


def without_privacy(folder: Path) -> float:
    """Train the teachers' learner on all made-up visits at once; with real patients this would be a leak."""
    from mapl.data.synthetic import CLASSES, LABEL, UNIT
    from mapl.data.tables.classes import Classes
    from mapl.data.tables.schema import Schema
    from mapl.data.tables.table import private_table, read_table
    from mapl.teachers import as_learner

    classes = Classes(CLASSES)
    schema = Schema.read(folder / "run" / "public" / "schema.json")

    def read(name: str) -> tuple[Rows, Labels]:
        given = read_table(folder / name, what="made-up visits", schema=schema)
        visits = private_table(given, label=LABEL, classes=classes, unit=UNIT, schema=schema)
        return visits.rows.open(), visits.labels

    learner = as_learner("ridge", classes, schema)
    rows, labels = read("private.parquet")
    questions, truth = read("test.parquet")
    predict = learner.train(rows, labels, n_classes=len(classes), seed=0)
    return float((predict(learner.prepare(questions)) == truth).mean())


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is not an earlier demo's."""
    if folder.exists() and not (folder / MARKER).is_file() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InvalidParameter(f"{folder} exists and is not an earlier demo's; choose another folder with --out.")
