"""Options in a file: ``mapl learn run.toml``, or the settings.json of an earlier run; the command line wins.

Values are read as if they stood on the command line, so a file can say nothing that the command line cannot.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperCommand

from mapl.cli.console import warn
from mapl.cli.dialect.complaints import complete
from mapl.errors import InvalidData, InvalidParameter
from mapl.parameters import speaking_without

SETTINGS = "settings.json"
OPTIONS, VERB = "options", "verb"
"""Where the settings of a run hold its options, and of which verb they are."""

NEVER_PUBLISHED = {"seed": "what decides about noise", "engine": "where private rows are worked on"}
"""Never read from what is published: whoever edited it could take the noise away, or see the rows."""

PUBLISH_OPTIONS = ("answer", "learn", "teach")
"""The verbs whose runs tell their options."""

ADVISED = frozenset({"regression"})
"""Options that shared code advises, and not every verb has."""


class FromFile(TyperCommand):
    """A verb whose first argument may be a file with its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        path, rest = self._file_and_rest(ctx, args)
        if path is not None:
            tell_of_second_spend(path, rest)
            ctx.default_map = dict(self._values(path, read_options(path, str(self.name))))
        try:
            return super().parse_args(ctx, rest)
        except Exception as complaint:
            known = {*ctx.params, *(ctx.default_map or ())}
            complete(complaint, [one for one in self.params if one.required and one.name not in known])
            raise

    def invoke(self, ctx: Any) -> Any:
        """Carry the verb out; no message advises an option that another verb has."""
        own = {name.replace("-", "_") for one in self.params for name, _ in _names(one)}
        with speaking_without(ADVISED - own):
            return super().invoke(ctx)

    def _file_and_rest(self, ctx: Any, args: list[str]) -> tuple[Path | None, list[str]]:
        """Split off the first argument that is no option, if it is a file of options."""
        first = next(iter(self._arguments(ctx, args)), None)
        if first is None or not is_settings(Path(first)):
            return None, args
        wanted = self._arguments(ctx, args)[1:]
        # An option may have the same word as its value; whichever is left out, the rest must mean the same.
        for place in (i for i, word in enumerate(args) if word == first):
            rest = [*args[:place], *args[place + 1 :]]
            if self._arguments(ctx, rest) == wanted:
                return Path(first), rest
        return None, args

    def _arguments(self, ctx: Any, args: list[str]) -> list[str]:
        given, more, _ = self.make_parser(ctx).parse_args(args=list(args))
        own = [given.get(one.name) for one in self.params if isinstance(one, TyperArgument)]
        return [one for one in own if isinstance(one, str)] + list(more)

    def _values(self, path: Path, found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the values of a file by the names of the parameters that they are for."""
        known = {name: (one, on) for one in self.params for name, on in _names(one)}
        for key, value in found.items():
            name = key.replace("_", "-")
            if name not in known:
                near = get_close_matches(name.removeprefix("n-"), known, n=2)
                hint = f"; did you mean {' or '.join(near)}?" if near else ";"
                raise InvalidParameter(
                    f"{path} has {key!r}, which is no option of mapl {self.name}{hint} mapl {self.name} --help "
                    "lists them, written here without dashes in front."
                )
            parameter, on = known[name]
            if value is not None:
                yield parameter.name, _as_typed(path, key, value, parameter, on)


def help_on_files(verb: str) -> str:
    """Say, at the end of a verb's help, that there is another place for options."""
    run = ", or come from the settings.json of an earlier run" if verb in PUBLISH_OPTIONS else ""
    return f"Options may also stand in a file, `mapl {verb} run.toml`{run}; those on the command line win."


def is_settings(path: Path) -> bool:
    """Say whether a file holds options, by its name; no table is called so."""
    return path.suffix == ".toml" or path.name == SETTINGS


def tell_of_second_spend(path: Path, words: Sequence[str]) -> None:
    """Say what the settings of a finished run cost when they are carried out once more."""
    if path.name == SETTINGS and (path.parent / "statement.json").exists() and "--continue" not in words:
        run = path.parent.parent
        warn(
            f"{path} is of a run that is finished. On the same people, another run spends its budget once more; "
            f"with --continue {run} both count in one."
        )


def read_options(path: Path, verb: str) -> Mapping[str, Any]:
    """Read the options that a file has for a verb."""
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as failure:
        raise InvalidParameter(f"{path} cannot be read ({failure.strerror}); check the path.") from None
    except (ValueError, RecursionError) as failure:  # what both parsers, and wrong bytes, raise
        where = f" ({failure})" if isinstance(failure, tomllib.TOMLDecodeError) else ""
        raise InvalidData(f"{path} is no {path.suffix[1:].upper()} file{where}; mend it.") from None
    return found if path.suffix == ".toml" else _of_a_run(path, found, verb)


def _of_a_run(path: Path, found: Any, verb: str) -> Mapping[str, Any]:
    """Return the options that the settings of a run tell; they are public, and so are not asked about noise."""
    options = found.get(OPTIONS) if isinstance(found, dict) else None
    if not isinstance(options, dict) or VERB not in options:
        raise InvalidData(
            f"{path} tells no options: no run of this mapl wrote it. Write them into a .toml file by hand."
        )
    if options[VERB] != verb:
        raise InvalidParameter(f"{path} is of mapl {options[VERB]}, not of mapl {verb}; give it to that verb.")
    for name in [one for one in NEVER_PUBLISHED if one in options]:
        raise InvalidData(
            f"{path} says {name}, which mapl never writes there: {NEVER_PUBLISHED[name]} is not read from public "
            f"files. Fetch the file anew; where it is meant, give --{name} on the command line."
        )
    return {key: value for key, value in options.items() if key != VERB}


def _names(parameter: Any) -> Iterator[tuple[str, bool]]:
    """Yield what a parameter is called in a file, and whether true there switches it on."""
    if isinstance(parameter, TyperArgument):
        yield str(parameter.name).replace("_", "-"), True
        return
    yield from ((name[2:], True) for name in parameter.opts if name.startswith("--"))
    yield from ((name[2:], False) for name in parameter.secondary_opts if name.startswith("--"))


def _as_typed(path: Path, key: str, value: Any, parameter: Any, on: bool) -> Any:
    """Return a value as it would stand on the command line."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise InvalidParameter(f"{key} in {path} is {value!r}; write true or false.")
        return value is on
    if getattr(parameter, "multiple", False):
        return [_word(path, key, one) for one in (value if isinstance(value, list) else [value])]
    if not isinstance(value, list):
        return _word(path, key, value)
    return ",".join(
        ":".join(_part(path, key, number) for number in one) if isinstance(one, list) else _part(path, key, one)
        for one in value
    )


def _part(path: Path, key: str, value: Any) -> str:
    """Return a member of a list, which the command line separates by commas."""
    word = _word(path, key, value)
    if "," in word:
        raise InvalidParameter(f"{key} in {path} has {word!r}; nothing in a list may have a comma. Rename it.")
    return word


def _word(path: Path, key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidParameter(
            f"{key} in {path} is of type {type(value).__name__}; write text, a number or a list of these, and all "
            "options at the top level."
        )
    return str(value)
