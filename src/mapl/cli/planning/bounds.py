"""``mapl bounds``: what the papers' theorems promise for given numbers; nothing private is read."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib import import_module
from typing import Any

import typer
from rich.table import Column, Table
from typer.core import TyperGroup

from mapl.bounds import Bound
from mapl.bounds.letters import LETTERS
from mapl.cli.console import out
from mapl.cli.dialect import panels
from mapl.errors import CannotCalibrate, InvalidParameter
from mapl.release.statement.statement import to_json

PAPERS = {
    "btt18": "Bassily, Thakkar, Thakurta (2018): Model-Agnostic Private Learning.",
    "lzcw21": "Liu, Zhu, Chaudhuri, Wang (2021): Revisiting Model-Agnostic Private Learning.",
    "df18": "Dwork, Feldman (2018): Privacy-preserving Prediction.",
    "df20": "Dagan, Feldman (2020): PAC learning with stable and private predictions.",
}

THEOREMS = {"btt18": "btt18.theorems", "lzcw21": "lzcw21.theorems", "df18": "df20.df18", "df20": "df20.theorems"}
"""Where the theorems of each paper are."""

Bounds = Mapping[str, Callable[..., Bound]]

LONGEST = 150
"""Digits before or behind the point; a fraction of two such numbers is still a float."""


class Papers(TyperGroup):
    """One command per paper, its options read off the signatures of the paper's bounds when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(PAPERS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command_of(cmd_name) if cmd_name in PAPERS else None


app = typer.Typer(add_completion=False, cls=Papers, no_args_is_help=True)


@app.callback()
def papers() -> None:
    """Compute what a paper's theorems promise for given numbers, and what each assumes; no private row is read."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a bound, as the command line sees it."""

    name: str
    kind: Any
    default: Any

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def value(self, text: str) -> Any:
        """Read a value of the parameter's kind; whole numbers may be written 1e6, fractions 1/3."""
        if isinstance(self.kind, type) and issubclass(self.kind, Enum):
            named = {str(member.value): member for member in self.kind}
            if text not in named:
                raise InvalidParameter(f"{self.option} is {text!r}; it must be {' or '.join(named)}.")
            return named[text]
        if self.kind is str:
            return text
        try:
            number = fraction(text)
        except (ValueError, ArithmeticError):
            raise InvalidParameter(
                f"{self.option} is {text[:40]!r}; it must be a number such as 1000, 1e-6 or 1/3."
            ) from None
        if self.kind is not int:
            return float(number)
        if number.denominator != 1:
            raise InvalidParameter(f"{self.option} is {text!r}; it must be a whole number such as 1000 or 1e6.")
        return int(number)


def fraction(text: str) -> Fraction:
    """Read a decimal number, or one over another, exactly."""
    parts = [Decimal(part) for part in text[: 4 * LONGEST].split("/", 1)]
    # A huge exponent would be written out, digit by digit, until the memory is full.
    if len(text) > 4 * LONGEST or not all(part.is_finite() and abs(part.adjusted()) <= LONGEST for part in parts):
        raise ValueError
    return Fraction(parts[0]) / (Fraction(parts[1]) if len(parts) == 2 else 1)


def arguments_of(function: Callable[..., Bound]) -> dict[str, Argument]:
    """Read the parameters of a bound off its signature; ``X | None`` counts as X."""
    hints = typing.get_type_hints(function)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kinds = [kind for kind in typing.get_args(hints[name]) if kind is not types.NoneType]
        found[name] = Argument(name, kinds[0] if kinds else hints[name], parameter.default)
    return found


def command_of(paper: str) -> Any:
    """Build the command of a paper: one option for every parameter that any of its bounds has."""
    bounds: Bounds = import_module(f"mapl.bounds.{THEOREMS[paper]}").BOUNDS
    every = {name: argument for function in bounds.values() for name, argument in arguments_of(function).items()}

    def run(which: list[str], as_json: bool, **given: str | None) -> None:
        report(
            paper, choose_bounds(bounds, which), {n: t for n, t in given.items() if t is not None}, as_json=as_json
        )

    listed = typer.Argument(None, metavar="BOUND", help="Bounds to compute.", show_default="all that can be")
    switch = panels.option(panels.RUNNING, "Print one JSON object, with the terms of every bound.", False, "--json")
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = [
        inspect.Parameter("which", keyword, default=listed, annotation=list[str]),
        *(inspect.Parameter(a.name, keyword, default=option(a), annotation=str | None) for a in every.values()),
        inspect.Parameter("as_json", keyword, default=switch, annotation=bool),
    ]
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    single = typer.Typer(add_completion=False)
    single.command(paper, help=f"{PAPERS[paper]} Without numbers: what each bound needs.")(run)
    return typer.main.get_command(single)


def option(argument: Argument) -> Any:
    """Describe one option; numbers are read as text, so that mapl can say what is wrong with them."""
    known = LETTERS.get(argument.name)
    named = argument.kind.__name__ if isinstance(argument.kind, type) else "value"
    kind = {"int": "whole number", "float": "number"}.get(named, named.lower())
    return panels.option(
        panels.NUMBERS, known.meaning if known else None, None, argument.option, metavar=kind.upper()
    )


def choose_bounds(bounds: Bounds, which: list[str]) -> Bounds:
    """Return the bounds of these names, all if there are none."""
    for name in which or ():
        if name not in bounds:
            raise InvalidParameter(f"There is no bound {name!r}. Choose from: {', '.join(bounds)}.")
    return {name: bounds[name] for name in which} if which else bounds


def report(paper: str, bounds: Bounds, given: Mapping[str, str], *, as_json: bool) -> None:
    """Compute what can be computed, and print it with its assumptions."""
    if not given and not as_json:
        out.print(needs_table(paper, bounds))
        return
    computed, impossible, incomplete = compute(bounds, given)
    if impossible and not computed:
        raise CannotCalibrate(" ".join(f"{name}: {reason}" for name, reason in impossible.items()))
    if not computed:
        first = next(iter(incomplete))
        raise InvalidParameter(
            f"Too little is given; {first} {incomplete[first]} `mapl bounds {paper}` lists what every bound needs."
        )
    left = {**impossible, **incomplete}
    if as_json:
        typer.echo(to_json(as_object(paper, given, computed, left)))
        return
    assumptions = list(dict.fromkeys(words for bound in computed.values() for words in bound.assumptions))
    out.print(bounds_table(paper, computed, assumptions))
    if len(computed) == 1:
        for bound in computed.values():
            shown = ", ".join(f"{name} {value:.6g}" for name, value in bound.terms.items())
            out.print(f"Source: {bound.source}\nFrom: {shown}", soft_wrap=True)
    if "epsilon" in given:
        out.print(f"{budget(given)}; adjacency and unit are among the assumptions:", soft_wrap=True)
    for number, words in enumerate(assumptions, 1):
        out.print(f"{number:3d}. {words}", soft_wrap=True)
    for name, reason in left.items():
        out.print(f"Not computed: {name}: {reason}", soft_wrap=True)


def compute(bounds: Bounds, given: Mapping[str, str]) -> tuple[dict[str, Bound], dict[str, str], dict[str, str]]:
    """Return the bounds, why some promise nothing, and what others need that is not given."""
    computed: dict[str, Bound] = {}
    impossible: dict[str, str] = {}
    incomplete: dict[str, str] = {}
    for name, function in bounds.items():
        arguments = arguments_of(function)
        if missing := [a.option for a in arguments.values() if a.required and a.name not in given]:
            incomplete[name] = f"needs {', '.join(missing)}."
            continue
        try:
            computed[name] = function(**{n: a.value(given[n]) for n, a in arguments.items() if n in given})
        except CannotCalibrate as failure:
            impossible[name] = str(failure)
    return computed, impossible, incomplete


def budget(given: Mapping[str, str]) -> str:
    """Name epsilon together with its delta."""
    return f"epsilon {given['epsilon']} at delta {given.get('delta', '0')}"


def as_object(
    paper: str, given: Mapping[str, str], computed: Mapping[str, Bound], left: Mapping[str, str]
) -> dict[str, Any]:
    """Lay the results out for programs."""
    rows = [
        {
            "name": name,
            "value": bound.value,
            "meaning": bound.meaning,
            "assumptions": list(bound.assumptions),
            "terms": dict(bound.terms),
            "source": bound.source,
        }
        for name, bound in computed.items()
    ]
    not_computed = [{"name": name, "reason": reason} for name, reason in left.items()]
    return {"paper": paper, "given": dict(given), "bounds": rows, "not_computed": not_computed}


def bounds_table(paper: str, computed: Mapping[str, Bound], assumptions: list[str]) -> Table:
    """Lay the results out for people; assumptions are named by number."""
    table = Table(Column("bound", no_wrap=True), "value", "meaning", "assumes", title=PAPERS[paper])
    for name, bound in computed.items():
        numbers = ", ".join(str(assumptions.index(words) + 1) for words in bound.assumptions)
        table.add_row(name, f"{bound.value:.6g}", bound.meaning, numbers)
    return table


def needs_table(paper: str, bounds: Bounds) -> Table:
    """List the bounds, what each says, and which options it needs."""
    table = Table(Column("bound", no_wrap=True), "says", "needs", "may take", title=PAPERS[paper])
    for name, function in bounds.items():
        arguments = arguments_of(function).values()
        needed = " ".join(a.option for a in arguments if a.required)
        optional = " ".join(a.option for a in arguments if not a.required)
        table.add_row(name, (inspect.getdoc(function) or "").partition("\n")[0], needed, optional)
    return table
