"""``mapl predict`` on a run with several labels: every label has a student, and a column of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mapl.cli.console import err, out
from mapl.cli.learning.predict import AS_PRIVATE, PREDICTION, PROBABILITY, ROW, as_csv, write_predictions
from mapl.data.tables.label_values import LabelValues, declare_values


def predict_each(
    students: list[Path],
    table: Path,
    to: Path | None,
    key: str | None,
    values: LabelValues,
    probabilities: bool,
    as_json: bool,
) -> None:
    """Predict every label; where FILE has its column, tell its accuracy."""
    import pyarrow as pa

    from mapl.pipeline.runs.inputs import read_labelled_rows
    from mapl.students import load

    columns: dict[str, Any] = {}
    accuracies: dict[str, float] = {}
    n_rows, keys = 0, {}
    for file in students:
        model = load(file, to_predict=True)
        label, classes = str(model.schema.label), declare_values(model.classes, values)
        own = key if file == students[0] else None  # one column of keys is enough
        given = read_labelled_rows(table, model.schema, classes, label=label, what="rows to predict", key=own)
        if own is not None:
            keys = {own: given.keys}
        codes = model.predict_codes(given.rows)
        n_rows = len(codes)
        columns[f"{PREDICTION} of {label}"] = model.predict(given.rows)
        if probabilities:
            for name, share in zip(model.classes.names, model.predict_proba(given.rows).T, strict=True):
                columns[f"{PROBABILITY} {label}: {name}"] = share
        if given.truth is not None:
            accuracies[label] = float((codes == given.truth).mean())
    written = pa.table({ROW: range(n_rows), **keys, **columns})
    if to is not None:
        write_predictions(to, written)
    if as_json:
        record: dict[str, Any] = {"rows": n_rows, "accuracy_by_label": accuracies}
        record["out"] = None if to is None else str(to)
        if to is None:
            record |= {name: written[name].to_pylist() for name in written.column_names}
        from mapl.release.statement.statement import to_json

        typer.echo(to_json(record))
        return
    if to is None:
        typer.echo(as_csv(written), nl=False)
    told = f"{n_rows} rows, {len(students)} labels"
    told += "".join(f", accuracy of {name} {share:.2%}" for name, share in accuracies.items())
    told += AS_PRIVATE if accuracies else ""
    if to is None:  # standard output holds the predictions and nothing else
        err.print(told, soft_wrap=True)
    else:
        out.print(f"{told}; predictions are in {to}.", soft_wrap=True)
