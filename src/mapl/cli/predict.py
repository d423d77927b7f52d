"""``mapl predict``: a published student and a table in, predictions out. Free: it reads nothing private."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from numpy.typing import NDArray

from mapl.cli.console import err, out
from mapl.errors import InvalidParameter
from mapl.release.statement import to_json

COLUMN = "prediction"


def predict(
    student: Path = typer.Argument(metavar="STUDENT", help="A student.skops that mapl learn wrote."),
    table: Path = typer.Argument(metavar="FILE", help="Rows with the student's columns: .csv, .parquet or .arrow."),
    to: Path | None = typer.Option(None, "--out", help="Where to write predictions: .csv or .parquet."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Predict with a published student; where FILE has the label column, its accuracy is told too."""
    from mapl.pipeline.inputs import labelled_rows
    from mapl.students import load

    if to is not None:
        _check_target(to)
    model = load(student)
    given = labelled_rows(table, model.schema, model.classes, label=model.schema.label, what="rows to predict")
    predicted = model.predict(given.rows)
    accuracy = None if given.truth is None else float((model.predict_codes(given.rows) == given.truth).mean())
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
