"""Nothing is left out: a verb, method, strategy, mechanism, estimator or route that no case names fails here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import cases
import estimator_cases
import pytest
import typer
from cases import CASES, FOR_THE_OWNER, NOTHING_PRIVATE
from frozen import ELSEWHERE, PLACES
from served import calls

import mapl.estimators
import mapl.mechanisms
import mapl.prediction
import mapl.release
from mapl.cli import app
from mapl.cli.learning.learn_options import Answerer, Choose, How, Parts
from mapl.cli.options.budget import Neighbours
from mapl.data.cells.partition import KINDS
from mapl.data.units.one_per_unit import KEYED, LATEST, ONLY
from mapl.estimators.soft import RELEASES
from mapl.mechanisms.registry import REGISTRY
from mapl.pipeline.request import ADJACENCIES
from mapl.pipeline.votes.soft_labelling import DESIGNS
from mapl.planning.rules.method import METHODS
from mapl.prediction.class_names import BY_NAME
from mapl.prediction.prices.offers import NAMES
from mapl.prediction.spending.one_rule import NAME as SEMI_PRIVATE
from mapl.service.app import ROUTES
from mapl.students.auto import STUDENTS_ONLY
from mapl.students.strategies.names import STRATEGIES
from mapl.teachers.learners.presets import PRESETS

LINES = [line for case in CASES if not callable(case.run) for line in case.run]
SERVED = ("teach", "serve")
"""Verbs of the one case on the command line that is a function."""


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Walk through all verbs and their parts, which are imported only when somebody asks for them."""
    surroundings = typer.Context(command)
    parts = command.list_commands(surroundings) if hasattr(command, "list_commands") else ()
    if not parts:
        yield " ".join(path)
    for name in parts:
        yield from verbs(command.get_command(surroundings, name), (*path, name))


def given(option: str, verb: str = "learn") -> set[str]:
    """Return the values that an option has in the cases of a verb."""
    return {found for line in LINES if line.startswith(verb) for found in re.findall(rf"{option} (\S+)", line)}


def test_every_verb_is_replayed_or_reads_nothing_private() -> None:
    found = {line.split()[0] for line in LINES if "PRIVATE" in line} | set(SERVED)
    told = {*NOTHING_PRIVATE, *FOR_THE_OWNER}
    assert found.isdisjoint(told)
    known, all_verbs = found | told, set(verbs(typer.main.get_command(app)))
    assert {verb for verb in all_verbs if not {verb, verb.split()[0]} & known} == set()
    assert known - all_verbs - {verb.split()[0] for verb in all_verbs} == set()


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("--strategy", {one.value for one in How} | set(DESIGNS) | set(STRATEGIES)),
        ("--partition", {one.value for one in Parts} | set(KINDS)),
        ("--active", {one.value for one in Choose}),
        ("--label-service", {one.value for one in Answerer}),
        ("--rounds", {"2"}),
    ],
)
def test_every_choice_of_learn_is_replayed(option: str, allowed: set[str]) -> None:
    assert given(option) == allowed


def test_every_method_is_replayed() -> None:
    methods = given("--method")
    assert {one for one in methods if not one.startswith("select:")} == set(METHODS)
    assert any(one.startswith("select:") for one in methods)
    assert given("--method", "answer") == {*NAMES, SEMI_PRIVATE, "auto"}
    assert {one.partition(":")[0] for one in given("--model", "answer")} == set(BY_NAME)


def test_every_adjacency_is_replayed() -> None:
    named = given("--adjacency") | given("--adjacency", "answer") | {"add-remove"}
    assert named == {one.value for one in Neighbours}
    assert named | {"labels"} == set(ADJACENCIES)
    assert any("--label-private" in line for line in LINES)


def test_every_kind_of_learner_is_replayed() -> None:
    """What `as_learner` makes: estimators of presets and one's own, functions, programs."""
    found = importlib.import_module("mapl.teachers.learners.learner")
    kinds = {name for name in vars(found) if name.endswith("Learner") and inspect.isclass(getattr(found, name))}
    assert kinds == {"Learner", "EstimatorLearner", "FunctionLearner", "CommandLearner"}
    assert {"own_learners:TREE", "own_learners:train"} <= given("--learner")
    assert given("--learner-command")


def test_every_preset_is_replayed() -> None:
    """Those for students only learn from what was released."""
    assert given("--learner") | set(written("learner")) >= set(PRESETS)
    assert set(STUDENTS_ONLY) == {"cnn"}


def test_every_record_that_may_count_is_replayed() -> None:
    assert {re.sub(":.*", ":", one) for one in given("--per-unit")} == {KEYED, ONLY, LATEST}


def test_every_adjacency_and_release_of_estimators_is_replayed() -> None:
    assert set(written("adjacency")) | {"add-remove"} == set(ADJACENCIES)
    assert set(written("release")) == set(RELEASES)


def written(parameter: str) -> list[str]:
    """Return the values that a parameter has in the cases of estimators."""
    return re.findall(rf'\b{parameter}="([\w-]+)"', inspect.getsource(cases) + inspect.getsource(estimator_cases))


def test_every_mechanism_is_replayed() -> None:
    assert given("--mechanism", "aggregate") == {"auto", *REGISTRY}


def test_every_estimator_is_replayed() -> None:
    taken = set(mapl.estimators.__all__) | {name for name in mapl.__all__ if name.endswith("Oracle")}
    source = inspect.getsource(estimator_cases)
    assert {name for name in taken if not re.search(rf"\b{name}\(", source)} == set()


def test_every_route_is_called() -> None:
    called = {(method, path) for method, path, _ in calls("token")}
    for method, path, *_ in ROUTES:
        pattern = re.sub(r"{\w+}", "[^/]+", path)
        assert any(method == one and re.fullmatch(pattern, other) for one, other in called), path


def test_every_place_where_coins_decide_about_private_values_is_swapped() -> None:
    assert set(PLACES).isdisjoint(ELSEWHERE)
    assert set(drawing()) == {one for one in (*PLACES, *ELSEWHERE) if one.endswith((".release", ".answer"))}


def drawing() -> Iterator[str]:
    """Find the methods called release or answer that take coins, wherever mechanisms and predictors are."""
    for package in (mapl.mechanisms, mapl.release, mapl.prediction):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for name, kind in vars(module).items():
                if inspect.isclass(kind) and kind.__module__ == module.__name__:
                    for method in ("release", "answer"):
                        made = vars(kind).get(method)
                        function = getattr(made, "__func__", made)
                        if inspect.isfunction(function) and "coins" in inspect.signature(function).parameters:
                            yield f"{module.__name__}:{name}.{method}"
