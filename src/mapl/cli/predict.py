"""``mapl predict``: a published student and a table in, predictions out. Free: it reads nothing private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from mapl.cli.console import err, out
from mapl.errors import InvalidData, InvalidParameter
from mapl.release.statement import to_json

if TYPE_CHECKING:
    import pyarrow as pa

    from mapl.students import Student

COLUMN = "prediction"


def predict(
    student: Path = typer.Argument(metavar="STUDENT", help="A student.skops that mapl learn wrote."),
    table: Path = typer.Argument(metavar="FILE", help="Rows with the student's columns: .csv, .parquet or .arrow."),
    to: Path | None = typer.Option(None, "--out", help="Where to write predictions: .csv or .parquet."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Predict with a published student; where FILE has the label column, its accuracy is told too."""
    from mapl.students import load

    if to is not None:
        _check_target(to)
    model = load(student)
    rows, truth = read_rows(table, model, model.schema.label)
    predicted = model.predict(rows)
    accuracy = None if truth is None else float((model.predict_codes(rows) == truth).mean())
    if to is not None:
        _write(to, predicted)
    if as_json:
        record: dict[str, Any] = {
            "rows": len(predicted),
            "accuracy": accuracy,
            "out": None if to is None else str(to),
        }
        if to is None:
            record["predictions"] = predicted.tolist()
        typer.echo(to_json(record))
        return
    if to is None:
        typer.echo("\n".join([COLUMN, *map(str, predicted)]))
    told = f"{len(predicted)} rows" + ("" if accuracy is None else f", accuracy {accuracy:.2%}")
    if to is None:  # standard output holds the predictions and nothing else
        err.print(told, soft_wrap=True)
    else:
        out.print(f"{told}; predictions are in {to}.", soft_wrap=True)


def read_rows(
    path: Path, student: Student, label: str | None, *, need_labels: bool = False
) -> tuple[pa.Table, NDArray[np.int32] | None]:
    """Read rows for a student, and their true classes where the table has the label column."""
    from mapl.data.conform import conformed
    from mapl.data.rows import column
    from mapl.data.table import label_codes, read_table

    table = read_table(path, what="rows to predict")
    truth = None
    if label is not None and label in table.column_names:
        truth = label_codes(column(table, label), student.classes, name=label, what="rows to predict")
    if truth is None and need_labels:
        raise InvalidData(f"{path} has no column {label!r}; a test set needs the labels.")
    missing = [name for name in student.columns if name not in table.column_names]
    if missing:
        raise InvalidData(
            f"{path} lacks the column {missing[0]!r}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + f" that the student needs; it was trained with {', '.join(student.columns[:20])}."
        )
    return conformed(table.select(list(student.columns)), student.schema, "rows to predict"), truth


def _check_target(path: Path) -> None:
    if path.suffix not in (".csv", ".parquet"):
        raise InvalidParameter(f"{path} ends in {path.suffix or 'nothing'}; name a .csv or .parquet file.")
    if path.exists():
        raise InvalidParameter(f"{path} exists already; choose another file with --out.")


def _write(path: Path, predicted: NDArray[Any]) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from mapl.release.write_once import write_once

    table = pa.table({COLUMN: predicted})
    sink = pa.BufferOutputStream()
    if path.suffix == ".csv":
        pa.csv.write_csv(table, sink)
    else:
        pa.parquet.write_table(table, sink)
    write_once(path, sink.getvalue().to_pybytes())
