"""``mapl predict``: a published student and a table in, predictions out. Free: it reads nothing private."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mapl.cli.console import err, out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.options.labels import LabelValuesText, label_values_of
from mapl.cli.options.standard_input import InputFormat, StandardInput
from mapl.data.tables.label_values import declare_values
from mapl.errors import InvalidParameter

if TYPE_CHECKING:
    from mapl.students.student import Student

STUDENT = "student.skops"
ROW, PREDICTION, PROBABILITY = "row", "prediction", "probability of"
"""The columns of predictions: the number of a row of FILE, counted from 0, its class, and each class's chance."""
AS_PRIVATE = " (as private as these rows)"
"""Behind a figure that labels of FILE were needed for: nobody else knows whether they are private."""


def predict(
    student: Path = typer.Argument(
        metavar="STUDENT",
        help="A student.skops that mapl learn wrote; or the folder of a run with several labels.",
    ),
    table: Path = typer.Argument(
        metavar="FILE", help="Rows with the student's columns: .csv, .jsonl, .parquet or .arrow."
    ),
    form: InputFormat = None,
    to: Path | None = option(panels.PREDICTIONS, "Where to write predictions: .csv or .parquet.", None, "--out"),
    key: str | None = option(
        panels.PREDICTIONS, "A column of FILE to write beside the predictions, such as an id.", None
    ),
    label_values: LabelValuesText = None,
    probabilities: bool = option(
        panels.PREDICTIONS, "Write the probability of every class, too.", False, "--probabilities"
    ),
    as_json: bool = option(panels.RUNNING, "Print one JSON object.", False, "--json"),
) -> None:
    """Predict with a published student; where FILE has the label column, its accuracy is told too.

    Predictions come in the order of FILE, each with the number of its row, counted from 0.
    """
    import pyarrow as pa

    from mapl.pipeline.runs.inputs import read_labelled_rows
    from mapl.students import load

    if to is not None:
        _check_target(to)
    if key in (ROW, PREDICTION) or (key is not None and key.startswith(f"{PROBABILITY} ")):
        raise InvalidParameter(f"The key is {key!r}, as a column of the predictions is called; rename it in FILE.")
    several = students_of_folder(student)
    if several:
        from mapl.cli.learning.predict_labels import predict_each

        values = label_values_of(label_values)
        predict_each(several, StandardInput(form, table).file_of(table), to, key, values, probabilities, as_json)
        return
    refuse_folder(student)
    model = load(student, to_predict=True)
    numbers = model.number_range
    if numbers is not None and (probabilities or label_values is not None):
        raise InvalidParameter(
            f"The student predicts numbers, {numbers}, which have neither classes nor probabilities; leave "
            f"{'--probabilities' if probabilities else '--label-values'} away."
        )
    classes = declare_values(model.classes, label_values_of(label_values))
    label, what = model.schema.label, "rows to predict"
    table = StandardInput(form, table).file_of(table)
    given = read_labelled_rows(table, model.schema, classes, label=label, what=what, key=key, number_range=numbers)
    predicted = model.predict(given.rows)
    measured = _measured(model, given.truth, predicted)
    keys = {} if key is None else {key: given.keys}
    shares = dict(zip(model.classes.names, model.predict_proba(given.rows).T, strict=True)) if probabilities else {}
    chances = {f"{PROBABILITY} {name}": share for name, share in shares.items()}
    written = pa.table({ROW: range(len(predicted)), **keys, PREDICTION: predicted, **chances})
    if to is not None:
        write_predictions(to, written)
    if as_json:
        record: dict[str, Any] = {
            "rows": len(predicted),
            **({"accuracy": None} | measured),
            "out": None if to is None else str(to),
        }
        if to is None:
            record |= {} if key is None else {"keys": _plain(written[key])}
            record["predictions"] = predicted.tolist()
            if probabilities:
                record["probabilities"] = {name: share.tolist() for name, share in shares.items()}
        from mapl.release.statement.statement import to_json

        typer.echo(to_json(record))
        return
    if to is None:
        typer.echo(as_csv(written), nl=False)
    told = f"{len(predicted)} rows"
    if "accuracy" in measured:
        told += f", accuracy {measured['accuracy']:.2%}"
    if "mae" in measured:
        told += f", off by {measured['mae']:.4g} on average"
    told += AS_PRIVATE if measured else ""
    if to is None:  # standard output holds the predictions and nothing else
        err.print(told, soft_wrap=True)
    else:
        out.print(f"{told}; predictions are in {to}.", soft_wrap=True)


def _measured(model: Student, truth: Any, predicted: Any) -> dict[str, float]:
    """Return how good predictions are, where the truth is known."""
    from mapl.teachers.learners.spelling import natural

    if truth is None:
        return {}
    if model.number_range is not None:
        return {"mae": float(abs(predicted - truth).mean())}
    return {"accuracy": float((predicted == natural(model.classes)[truth]).mean())}


def students_of_folder(path: Path) -> list[Path]:
    """Return the students of a run with several labels, by the number of their label; none for anything else."""
    for folder in (path / "public", path):
        found = [one for one in folder.glob("student-*.skops") if one.stem.removeprefix("student-").isdecimal()]
        if found:
            return sorted(found, key=lambda one: int(one.stem.removeprefix("student-")))
    return []


def refuse_folder(path: Path) -> None:
    """Refuse a folder in the place of a student, and name the student where the folder is a run's."""
    if not path.is_dir():
        return
    own = next((one for one in (path / "public" / STUDENT, path / STUDENT) if one.is_file()), None)
    if own is not None:
        raise InvalidParameter(f"{path} is a folder of a run; its student is the file {own}, so give that.")
    several = students_of_folder(path)
    if several:
        raise InvalidParameter(
            f"{path} is a folder of a run with several labels, each with a student of its own; give one of "
            f"{', '.join(map(str, several[:5]))}."
        )
    raise InvalidParameter(f"{path} is a folder; give the file public/{STUDENT} of a run that mapl learn finished.")


def _check_target(path: Path) -> None:
    if path.suffix not in (".csv", ".parquet"):
        raise InvalidParameter(f"{path} ends in {path.suffix or 'nothing'}; name a .csv or .parquet file.")
    if path.exists():
        raise InvalidParameter(f"{path} exists already; choose another file with --out.")
    if not path.absolute().parent.is_dir():
        raise InvalidParameter(f"{path} is in a folder that does not exist; make it, or choose another --out.")


def write_predictions(path: Path, table: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    from mapl.release.files.write_once import write_once

    if path.suffix == ".csv":
        write_once(path, as_csv(table).encode())
        return
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink)
    write_once(path, sink.getvalue().to_pybytes())


def as_csv(table: Any) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*map(_plain, table.columns), strict=True))
    return text.getvalue()


def _plain(cells: Any) -> list[Any]:
    """Return cells as what CSV and JSON can hold."""
    return [one if one is None or isinstance(one, (int, float, str)) else str(one) for one in cells.to_pylist()]
