"""``mapl predict``: a published student and a table in, predictions out. Free: it reads nothing private."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import typer

from mapl.cli.console import err, out
from mapl.errors import InvalidParameter
from mapl.release.statement import to_json

STUDENT = "student.skops"
ROW, PREDICTION, PROBABILITY = "row", "prediction", "probability of"
"""The columns of predictions: the number of a row of FILE, counted from 0, its class, and each class's chance."""


def predict(
    student: Path = typer.Argument(metavar="STUDENT", help="A student.skops that mapl learn wrote."),
    table: Path = typer.Argument(metavar="FILE", help="Rows with the student's columns: .csv, .parquet or .arrow."),
    to: Path | None = typer.Option(None, "--out", help="Where to write predictions: .csv or .parquet."),
    key: str | None = typer.Option(None, help="A column of FILE to write beside the predictions, such as an id."),
    probabilities: bool = typer.Option(False, "--probabilities", help="Write the probability of every class, too."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Predict with a published student; where FILE has the label column, its accuracy is told too.

    Predictions come in the order of FILE, each with the number of its row, counted from 0.
    """
    import pyarrow as pa

    from mapl.pipeline.inputs import labelled_rows
    from mapl.students import load

    _refuse_folder(student)
    if to is not None:
        _check_target(to)
    if key in (ROW, PREDICTION) or (key is not None and key.startswith(f"{PROBABILITY} ")):
        raise InvalidParameter(f"The key is {key!r}, as a column of the predictions is called; rename it in FILE.")
    model = load(student)
    label, what = model.schema.label, "rows to predict"
    given = labelled_rows(table, model.schema, model.classes, label=label, what=what, key=key)
    predicted = model.predict(given.rows)
    accuracy = None if given.truth is None else float((model.predict_codes(given.rows) == given.truth).mean())
    keys = {} if key is None else {key: given.keys}
    shares = dict(zip(model.classes.names, model.predict_proba(given.rows).T, strict=True)) if probabilities else {}
    chances = {f"{PROBABILITY} {name}": share for name, share in shares.items()}
    written = pa.table({ROW: range(len(predicted)), **keys, PREDICTION: predicted, **chances})
    if to is not None:
        _write(to, written)
    if as_json:
        record: dict[str, Any] = {
            "rows": len(predicted),
            "accuracy": accuracy,
            "out": None if to is None else str(to),
        }
        if to is None:
            record |= {} if key is None else {"keys": _plain(written[key])}
            record["predictions"] = predicted.tolist()
            if probabilities:
                record["probabilities"] = {name: share.tolist() for name, share in shares.items()}
        typer.echo(to_json(record))
        return
    if to is None:
        typer.echo(_as_csv(written), nl=False)
    told = f"{len(predicted)} rows" + ("" if accuracy is None else f", accuracy {accuracy:.2%}")
    if to is None:  # standard output holds the predictions and nothing else
        err.print(told, soft_wrap=True)
    else:
        out.print(f"{told}; predictions are in {to}.", soft_wrap=True)


def _refuse_folder(path: Path) -> None:
    """Refuse a folder in the place of a student, and name the student where the folder is a run's."""
    if not path.is_dir():
        return
    own = next((one for one in (path / "public" / STUDENT, path / STUDENT) if one.is_file()), None)
    if own is not None:
        raise InvalidParameter(f"{path} is a folder of a run; its student is the file {own}, so give that.")
    raise InvalidParameter(f"{path} is a folder; give the file public/{STUDENT} of a run that mapl learn finished.")


def _check_target(path: Path) -> None:
    if path.suffix not in (".csv", ".parquet"):
        raise InvalidParameter(f"{path} ends in {path.suffix or 'nothing'}; name a .csv or .parquet file.")
    if path.exists():
        raise InvalidParameter(f"{path} exists already; choose another file with --out.")


def _write(path: Path, table: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    from mapl.release.write_once import write_once

    if path.suffix == ".csv":
        write_once(path, _as_csv(table).encode())
        return
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink)
    write_once(path, sink.getvalue().to_pybytes())


def _as_csv(table: Any) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*map(_plain, table.columns), strict=True))
    return text.getvalue()


def _plain(cells: Any) -> list[Any]:
    """Return cells as what CSV and JSON can hold."""
    return [one if one is None or isinstance(one, (int, float, str)) else str(one) for one in cells.to_pylist()]
