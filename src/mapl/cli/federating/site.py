"""``mapl site``: a plan and a private table in, one file with noisy numbers out that may leave the site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapl.cli.console import out
from mapl.cli.dialect import panels
from mapl.cli.dialect.panels import option
from mapl.cli.dialect.spelling import BY_PLAN
from mapl.cli.options.amounts import bytes_or_none
from mapl.cli.options.running import AsJson, Jobs, RunOut, Seed
from mapl.cli.options.tables import Memory, PrivateTable
from mapl.parameters import speaking


def site(
    *,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder that mapl federate wrote.")],
    private: PrivateTable,
    name: Annotated[str, option(panels.TABLES, "Which site of the plan this is.")],
    past_rounds: Annotated[
        Path | None,
        option(
            panels.TABLES,
            "The rounds that are over, as the coordinator sent them (rounds-N.json).",
            show_default="none: the first round",
        ),
    ] = None,
    memory: Memory = None,
    jobs: Jobs = -1,
    to: RunOut,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Answer a plan at one site: noisy counts, sums or votes of its PRIVATE table, in a file.

    Writes OUT/public/NAME-ROUND.json, and OUT/private with the ledger of this site, which stays here. Every round
    goes on in the same OUT. Exit code 2: bad input, and nothing was spent unless the message says so.
    """
    from mapl.federation.plan_folder import PlanFolder
    from mapl.federation.rounds import Heard
    from mapl.federation.site import Site
    from mapl.pipeline.runs.folder import RunFolder
    from mapl.release.statement.plain_words import NOT_PRIVATE
    from mapl.release.statement.statement import to_json

    here = Site(PlanFolder(plan), name, private, RunFolder(to), bytes_or_none(memory), jobs)
    with speaking(BY_PLAN):
        answer = here.answer(None if past_rounds is None else Heard.read(past_rounds), seed=seed)
    said = answer.statement
    if as_json:
        told = {
            "round": answer.round,
            "seal": answer.seal,
            "file": str(here.file_of(answer)),
            "statement": dict(said),
        }
        typer.echo(to_json(told))
        return
    if not answer.private:
        out.print(f"{NOT_PRIVATE} ({said['noise']}): for tests only.")
    out.print(
        f"Round {answer.round} is answered. Send {here.file_of(answer)} to the coordinator. Seal: {answer.seal}\n"
        f"All answers of this site together: epsilon {said['guaranteed_epsilon']:g} at delta {said['delta']:g} "
        f"(adjacency: {said['adjacency']}; unit: {said['unit']}).",
        soft_wrap=True,
    )
