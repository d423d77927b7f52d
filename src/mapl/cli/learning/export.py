"""``mapl export``: a published student in, a file for another world out. Free: it reads nothing private."""

from __future__ import annotations

from pathlib import Path

import typer

from mapl.cli.console import err, out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.learning.predict import refuse_folder
from mapl.cli.options.running import AsJson
from mapl.release.statement.statement import to_json


def export(
    student: Path = typer.Argument(metavar="STUDENT", help="A student.skops that mapl learn wrote."),
    to: str = option(panels.EXPORT, "onnx, sklearn (without mapl, by skops), or json.", ..., "--to"),
    path: Path | None = option(panels.EXPORT, "Where to write it; beside STUDENT if left out.", None, "--out"),
    as_json: AsJson = False,
) -> None:
    """Write a published student as ONNX, for scikit-learn alone, or as JSON.

    The file follows from STUDENT alone, byte for byte, and tells the promise of privacy. What another world cannot
    hold is refused in words.
    """
    from mapl.students import load
    from mapl.students.exports.export import FORMS, export

    refuse_folder(student)
    model = load(student)
    target = student.with_name(student.stem + FORMS.get(to, "")) if path is None else path
    export(model, target, to=to)
    if as_json:
        promise = None if model.promise is None else model.promise.to_record()
        typer.echo(to_json({"to": to, "out": str(target), "privacy": promise}))
    else:
        out.print(f"The student is in {target}.", soft_wrap=True)
    if model.promise is None:
        err.print(
            "The student file is older than mapl 0.2 or was saved without its statement, so that the export tells "
            "no promise of privacy; pass statement.json along with it.",
            soft_wrap=True,
        )
