"""The verbs by name. A verb's file is imported when the verb is used, so ``mapl --help`` costs next to nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import typer

from mapl.cli.console import Refusals
from mapl.cli.dialect.settings_file import FromFile, help_on_files

ONE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
"""Where a line ends and its paragraph goes on: a terminal breaks lines by its own width."""


class Room(NamedTuple):
    """Verbs of one trade: a folder beside this file, and a panel of ``mapl --help``."""

    panel: str
    verbs: Mapping[str, str]


ROOMS: Mapping[str, Room] = {
    "learning": Room(
        "From a private table to a student",
        {
            "demo": "Learn privately from 60,000 visits of made-up patients, and compare with learning "
            "without privacy.",
            "schema": "Draft a schema from PUBLIC rows: the kind of every column, and its public statistics.",
            "check": "See how mapl learn would read a PRIVATE table: nothing is released, and nothing is spent.",
            "learn": "Learn from a private table and publish a student model with its privacy statement.",
            "predict": "Predict with a published student; where FILE has the label column, its accuracy is told "
            "too.",
            "export": "Write a published student as ONNX, for scikit-learn alone, or as JSON.",
            "report": "Write the report of a run anew, for example with another test set.",
            "learners": "List the named learners; any other learner can be imported (module:name) or run as a "
            "program.",
        },
    ),
    "planning": Room(
        "Without a private row",
        {
            "plan": "Say what a budget can buy, by moments, cells and teachers, and how to carry it out.",
            "margin": "Measure on PUBLIC rows how clearly teachers of several sizes vote.",
            "mechanisms": "List the mechanisms by name; --json also lists the settings that each takes.",
            "bounds": "Compute what a paper's theorems promise for given numbers, and what each assumes; no "
            "private row is read.",
            "reproduce": "Carry out every checkable claim of a paper: the claim, the command, the numbers, a "
            "picture and a verdict.",
        },
    ),
    "releasing": Room(
        "Single releases",
        {
            "aggregate": "Release labels from teachers' votes within a privacy budget.",
            "answer": "Answer questions about a private table, each between two classes, with a pure epsilon.",
        },
    ),
    "federating": Room(
        "Sites that may not pool",
        {
            "federate": "Make the PUBLIC plan that all sites agree on, before any of them reads a private row.",
            "site": "Answer a plan at one site: noisy counts, sums or votes of its PRIVATE table, in a file.",
            "combine": "Add up what all sites answered, and publish a student, or the rounds that are over.",
        },
    ),
    "serving": Room(
        "A server that answers",
        {
            "teach": "Train teachers on a private table and keep them for questions to come (`mapl serve`).",
            "serve": "Serve a taught run: POST /v1/answers and the rest of the API, described at /openapi.json.",
            "keys": "API keys of a server: create, list, rotate, revoke, log.",
            "ledger": "Look at the ledger of a run, check, export, copy or unlock it.",
        },
    ),
    "auditing": Room(
        "Checks and attacks",
        {
            "doctor": "Look at the installation, the machine and a folder for runs; say what is missing and what "
            "to do.",
            "audit": "Attack a mechanism, or a finished set-up; print what it claims and what was found.",
        },
    ),
}
"""Which verb stands in which room, and what it does in the first sentence of its own help."""
ROOM_OF: Mapping[str, str] = {verb: room for room, inside in ROOMS.items() for verb in inside.verbs}
VERBS: Mapping[str, str] = {verb: says for inside in ROOMS.values() for verb, says in inside.verbs.items()}


class Verbs(Refusals):
    """The group of all verbs: each is imported when it is called, and listed without being imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command_of(cmd_name) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Say which verb may have been meant where there is none of a name."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as refusal:
            near = get_close_matches(args[0], VERBS, n=3) if args else []
            if near and hasattr(refusal, "message"):
                refusal.message = f"There is no verb {args[0]!r}. Did you mean {' or '.join(near)}?"
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of all verbs from their list, in place of the verbs themselves."""
        listed = Verbs(name=self.name, params=self.params, help=self.help, rich_markup_mode=self.rich_markup_mode)
        listed.get_command = lambda ctx, cmd_name: _stand_in(cmd_name)  # type: ignore[method-assign]
        super(Verbs, listed).format_help(ctx, formatter)


def command_of(verb: str) -> Any:
    """Import a verb and return its command: a function of the verb's name, or a group of commands called app."""
    module: ModuleType = import_module(f"mapl.cli.{ROOM_OF[verb]}.{verb}")
    group: typer.Typer | None = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False)
        group.command(cls=FromFile, epilog=help_on_files(verb))(getattr(module, verb))
    command = typer.main.get_command(group)
    command.name = verb
    for one in (command, *getattr(command, "commands", {}).values()):
        one.help = ONE_BREAK.sub(" ", one.help or "")
    return command


def _stand_in(verb: str) -> Any:
    """Return a command that has a verb's name and help, and does nothing."""
    group = typer.Typer(add_completion=False)
    group.command(help=VERBS[verb], rich_help_panel=ROOMS[ROOM_OF[verb]].panel)(lambda: None)
    command = typer.main.get_command(group)
    command.name = verb
    return command
