"""Compiled teachers: the same solutions and votes as numpy's. Without numba, Python runs the same code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mapl.teachers.compiled import binary_newton as compiled_newton
from mapl.teachers.compiled import compiling
from mapl.teachers.compiled.compiling import can_compile, compile_lazily
from mapl.teachers.compiled.positive_system import factor, invert_lower, solve
from mapl.teachers.panel import LinearPanel, Weights
from mapl.teachers.together import binary_newton, polling
from mapl.teachers.together.family import Stack
from mapl.teachers.together.logistic import Logistic
from mapl.teachers.together.naive_bayes import GaussianBayes
from mapl.teachers.together.recognition import Syllabus
from mapl.teachers.together.ridge import Ridge

FEW_STEPS = 8


def stack(n_classes: int, width: int, n_shards: int = 3, n: int = 24) -> Stack:
    generator = np.random.default_rng(n_classes * width)
    places = np.stack([generator.permutation(np.arange(n) % n_classes) for _ in range(n_shards)])
    rows = generator.normal(size=(n_shards, n, width)) * np.geomspace(0.1, 5, n_shards)[:, None, None]
    return Stack(rows, places, n_classes)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("width", [3, 30])
@pytest.mark.parametrize("settings", [{}, {"balanced": True}, {"intercept": False}], ids=str)
def test_logistic_teachers_find_the_same_solution(n_classes: int, width: int, settings: Any) -> None:
    shards, family = stack(n_classes, width), Logistic(3.0, **settings)
    slow, fast = family.solve(shards), replace(family, compiled=True).solve(shards)
    assert slow.settled.all()
    assert fast.settled.all()
    np.testing.assert_allclose(fast.coef, slow.coef, atol=2e-5)
    np.testing.assert_allclose(fast.intercept, slow.intercept, atol=2e-5)
    questions = np.random.default_rng(1).normal(size=(200, width))
    one, other = (
        LinearPanel.of(
            [Weights(c, b, np.arange(n_classes)) for c, b in zip(solved.coef, solved.intercept, strict=True)],
            n_features=width,
            n_classes=n_classes,
        )
        for solved in (slow, fast)
    )
    np.testing.assert_array_equal(one.votes(questions).counts, other.votes(questions).counts)


def test_two_classes_that_are_all_but_apart_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step goes as far as the line of it tells; of whole steps there would be eleven."""
    generator = np.random.default_rng(4)
    rows = np.concatenate([generator.normal(size=(20, 60, 40)), np.ones((20, 60, 1))], axis=2)
    targets = (rows[:, :, 0] + generator.normal(size=(20, 60)) / 10 > 0).astype(np.float64)
    arguments = rows, targets, np.full(targets.shape, 100.0), np.append(np.ones(40), 0.0)
    exact, settled = binary_newton.fit_binary(*arguments)
    assert settled.all()
    for module in (binary_newton, compiled_newton):
        fit = getattr(module.fit_binary, "py_func", module.fit_binary)  # constants are fixed by compiling
        monkeypatch.setattr(module, "MOST_STEPS", FEW_STEPS)
        found, settled = fit(*arguments)
        assert settled.all()
        np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_naive_bayes_teachers_have_the_same_moments(n_classes: int) -> None:
    shards, family = stack(n_classes, 6), GaussianBayes(1e-9)
    slow, fast = family.solve(shards), replace(family, compiled=True).solve(shards)
    np.testing.assert_allclose(fast.coef, slow.coef, rtol=1e-9)
    np.testing.assert_allclose(fast.intercept, slow.intercept, rtol=1e-9)
    np.testing.assert_array_equal(fast.settled, slow.settled)


@pytest.mark.parametrize("family", [Logistic(1.0, compiled=True), GaussianBayes(1e-9, compiled=True)], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_bit_depends_on_another_shard(family: Any, n_classes: int) -> None:
    shards = stack(n_classes, 4)
    spoiled = Stack(shards.rows.copy(), shards.places, n_classes)
    spoiled.rows[1] = np.nan
    whole, beside = family.solve(shards), family.solve(spoiled)
    assert not (beside.settled[1] and np.isfinite(beside.coef[1]).all())
    for k in (0, 2):
        alone = family.solve(Stack(shards.rows[[k]], shards.places[[k]], n_classes))
        assert alone.coef[0].tobytes() == whole.coef[k].tobytes() == beside.coef[k].tobytes()
        assert alone.intercept[0].tobytes() == whole.intercept[k].tobytes() == beside.intercept[k].tobytes()


def test_a_system_is_solved_or_said_to_be_none() -> None:
    generator = np.random.default_rng(0)
    root = generator.normal(size=(7, 5))
    matrix, right = root.T @ root, generator.normal(size=5)
    lower, solution = matrix.copy(), right.copy()
    assert factor(lower)
    np.testing.assert_allclose(invert_lower(lower) @ np.tril(lower), np.eye(5), atol=1e-9)
    solve(lower, solution)
    np.testing.assert_allclose(matrix @ solution, right, atol=1e-9)
    for broken in (-np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan)):
        assert not factor(broken.copy())


def test_only_very_many_teachers_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from mapl.data.tables.classes import Classes

    monkeypatch.setattr(polling, "can_compile", lambda: True)
    few, many = polling.ENOUGH_TO_COMPILE - 1, polling.ENOUGH_TO_COMPILE
    for family in (Logistic(1.0), GaussianBayes(1e-9)):
        syllabus = Syllabus(Classes(("a", "b")), None, None, family)
        assert polling.hasten(syllabus, few) == syllabus
        assert polling.hasten(syllabus, many).family == replace(family, compiled=True)
    ridge = Syllabus(Classes(("a", "b")), None, None, Ridge(1.0))
    assert polling.hasten(ridge, many) == ridge
    monkeypatch.setattr(polling, "can_compile", lambda: False)
    assert polling.hasten(syllabus, many) == syllabus


def test_without_numba_a_function_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "can_compile", lambda: False)
    assert compile_lazily(len) is len


@pytest.mark.skipif(not can_compile(), reason="numba is not installed")
def test_with_numba_functions_are_compiled() -> None:
    assert hasattr(factor, "py_func")
