"""The command line: one file per verb in the room of its trade, and one place where errors become exit codes."""

from __future__ import annotations

from pathlib import Path

import typer

from mapl import __version__
from mapl.cli.verbs import Verbs

app = typer.Typer(
    cls=Verbs,
    invoke_without_command=True,
    # Tracebacks with local variables would print private votes.
    pretty_exceptions_enable=False,
    help="Model-agnostic private learning: only what differential privacy allows is ever released.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"mapl {__version__}")
        raise typer.Exit


@app.callback()
def mapl(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    if context.invoked_subcommand is None:
        from mapl.cli.next_steps import suggest_steps

        typer.echo(suggest_steps(Path.cwd()))


def main() -> None:
    """Run the command line; the console entry point."""
    app()


__all__ = ["app", "main"]
