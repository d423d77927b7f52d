"""``mapl audit --run``: a finished set-up, rehearsed and attacked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from mapl.cli.console import out, progress_of, tell
from mapl.release.statement.statement import to_json

if TYPE_CHECKING:
    from mapl.audit.runs.rehearse import Rehearsed

FAILED = 1
WAYS = {
    "teachers": "teachers vote on public rows",
    "cells": "records are counted in public cells",
    "server": "kept teachers answer questions",
}


def attack(
    run: Path,
    *,
    rows: Path | None,
    trials: int | None,
    canaries: int | None,
    confidence: float,
    seed: int | None,
    as_json: bool,
) -> None:
    """Rehearse a set-up, attack it, and print the bounds beside the claim."""
    from mapl.audit.runs.rehearse import rehearse

    found = rehearse(
        run,
        rows=rows,
        trials=trials,
        canaries=canaries,
        confidence=confidence,
        seed=seed,
        progress=progress_of(quiet=as_json),
    )
    if as_json:
        typer.echo(to_json({"run": str(run), **found.to_dict()}))
    else:
        out.print(claim_of(found, run))
        out.print(attacks_of(found))
        tell("mapl: rehearsed on made-up records by the public half of the run; nothing private was read or spent.")
    if found.broken:
        tell(
            "mapl: the claim is BROKEN: three attacks in a row prove a larger epsilon. Publish nothing "
            "of it, and please report it."
        )
    if found.says_nothing:
        tell(weak(found))
    if found.broken or found.says_nothing:
        raise typer.Exit(FAILED)


def weak(found: Rehearsed) -> str:
    """Say why the attack says nothing, and what to do."""
    missed = [one for one in found.attacks if one.result.value == "NOT CAUGHT"]
    most = max(one.most_provable for one in missed)
    words = (
        "mapl: a control without any noise was not caught, so the attack is too weak to say anything about this "
        "set-up"
    )
    if most <= found.claim.epsilon:
        return (
            f"{words}: so many guesses, all of them right, prove epsilon {most:.2f} at most, and the claim is "
            f"{found.claim.epsilon:g} (delta {found.claim.delta:g}; {found.promise.terms}). Take more --trials and "
            "--canaries; an epsilon above 8 or so is out of reach of any such attack."
        )
    return f"{words}. Take more --trials, or other --public rows."


def claim_of(found: Rehearsed, run: Path) -> Table:
    """Lay out what is claimed."""
    shown = Table(title=f"Attack on the set-up of {run}", title_justify="left", show_header=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    shown.add_row("claimed", f"epsilon {found.claim.epsilon:.4g} at delta {found.claim.delta:g}")
    shown.add_row("adjacency", found.promise.adjacency)
    shown.add_row("unit", found.promise.unit)
    shown.add_row("set-up", f"{WAYS[found.way]}; {found.mechanism}")
    if found.student is not None:
        shown.add_row("student", found.student)
    shown.add_row("bounds", f"hold together with {100 * found.confidence:.6g}% confidence")
    return shown


def attacks_of(found: Rehearsed) -> Table:
    """Lay out what every attack found."""
    shown = Table("attack", "it sees", "noise", "runs", "right", "epsilon at least", "result")
    for one in found.attacks:
        shown.add_row(
            one.attack,
            one.sees,
            "none: control" if one.control else "as run",
            f"{one.runs}",
            f"{one.right} of {one.guesses}",
            f"{one.epsilon_at_least:.2f} (of {one.most_provable:.2f})",
            one.result.value,
        )
    return shown
