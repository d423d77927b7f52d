"""The command line: one file per verb, and one place where errors become exit codes."""

from __future__ import annotations

import typer

from mapl import __version__
from mapl.cli import (
    aggregate,
    answer,
    audit,
    bounds,
    demo,
    keys,
    learn,
    learners,
    ledger,
    margin,
    mechanisms,
    plan,
    predict,
    report,
    schema,
    serve,
    teach,
)
from mapl.cli.console import Verbs

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    # Tracebacks with local variables would print private votes.
    pretty_exceptions_enable=False,
    help="Model-agnostic private learning: teachers vote, only what differential privacy allows is released.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"mapl {__version__}")
        raise typer.Exit


@app.callback()
def mapl(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    pass


app.command()(aggregate.aggregate)
app.command()(answer.answer)
app.command()(audit.audit)
app.add_typer(bounds.app, name="bounds")
app.command()(demo.demo)
app.add_typer(keys.app, name="keys")
app.command()(learn.learn)
app.command()(learners.learners)
app.add_typer(ledger.app, name="ledger")
app.command()(margin.margin)
app.command()(mechanisms.mechanisms)
app.command()(plan.plan)
app.command()(predict.predict)
app.command()(report.report)
app.command()(schema.schema)
app.command()(serve.serve)
app.command()(teach.teach)


def main() -> None:
    """Run the command line; the console entry point."""
    app()


__all__ = ["app", "main"]
