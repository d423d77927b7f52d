"""The attacks on a finished set-up: canaries in one run, membership from labels, each beside a control."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mapl.audit.runs.membership import guess_membership, runs_needed
from mapl.audit.runs.one_run import epsilon_from_guesses, guesses_needed
from mapl.audit.runs.scene import NOTHING, Scene
from mapl.audit.runs.set_up import SetUp
from mapl.errors import InvalidParameter
from mapl.noise import Coins, SystemCoins
from mapl.release.statement.promise import Promise
from mapl.types import Budget, ShowProgress, positive_integer

CANARIES, MEMBERSHIP = "canaries", "membership"
MARGIN = 1.15
"""By how much more than the claim a perfect attack is to show, where the number of runs is left open."""
FEWEST_RUNS, MOST_RUNS = 40, 2_000
"""Runs with the target, and as many without, where their number is left open."""
FEWEST_CANARIES, MOST_CANARIES = 100, 1_000
ATTACKS = 3
"""So many bounds are told together; each may be wrong with this part of the doubt."""

TIMES = 3
"""A claim is broken if so many attacks in a row, each with runs of its own, exceed it. A good attack on a tight
mechanism exceeds it by chance once in a while, and a false alarm costs a lot."""


class AttackResult(StrEnum):
    """What an attack says about the claim."""

    holds = "holds"
    """The bound does not exceed the claim."""
    broken = "BROKEN"
    """The bound exceeds the claim."""
    caught = "caught"
    """The bound of a control, which keeps no promise, exceeds the claim."""
    missed = "NOT CAUGHT"
    """The attack does not see through a control: what it says of the set-up means nothing."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """One attack: what it sees, how often it guessed right, and which epsilon that refutes."""

    attack: str
    sees: str
    runs: int
    guesses: int
    right: int
    epsilon_at_least: float
    most_provable: float
    """The bound that no wrong guess at all would have given."""
    control: bool = False
    result: AttackResult = AttackResult.holds

    def judged(self, claim: Budget, *, control: bool) -> Attacked:
        """Say what the bound means, for the set-up or for a control of it."""
        exceeded = self.epsilon_at_least > claim.epsilon
        if control:
            return replace(self, control=True, result=AttackResult.caught if exceeded else AttackResult.missed)
        return replace(self, result=AttackResult.broken if exceeded else AttackResult.holds)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What all attacks found, beside the claim of the set-up."""

    way: str
    mechanism: str
    claim: Budget
    promise: Promise
    confidence: float
    student: str | None
    attacks: tuple[Attacked, ...]

    @property
    def broken(self) -> bool:
        return any(one.result is AttackResult.broken for one in self.attacks)

    @property
    def says_nothing(self) -> bool:
        """Whether a control got away, so that the attack is too weak to be worth anything."""
        return any(one.result is AttackResult.missed for one in self.attacks)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "way": self.way,
            "mechanism": self.mechanism,
            "epsilon": self.claim.epsilon,
            "delta": self.claim.delta,
            "adjacency": self.promise.adjacency,
            "unit": self.promise.unit,
            "confidence": self.confidence,
            "student": self.student,
            "broken": self.broken,
            "says_nothing": self.says_nothing,
            "attacks": [{**asdict(one), "result": one.result.value} for one in self.attacks],
        }


def rehearse(
    run: Path,
    *,
    rows: Path | None = None,
    trials: int | None = None,
    canaries: int | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    coins: Coins | None = None,
    progress: ShowProgress = lambda what, total: nullcontext(None),
) -> Rehearsed:
    """Attack a finished set-up as its public half tells it, on made-up records. Nothing private is read or spent.

    Parameters
    ----------
    run
        The folder of a run of `mapl learn` or `mapl teach`, or its public half alone.
    rows
        Public rows to take for records and questions; made-up ones where there are none, or too few.
    trials
        Runs with the target, and as many without; as many as the claim needs, within bounds, if None.
    canaries
        How many canaries are guessed about in one run, as far as there is room.
    confidence
        The chance that all bounds on the set-up are right.
    seed
        Of what the attack chooses by lot; the noise is that of `coins`.
    """
    if not 0.5 <= confidence < 1:
        raise InvalidParameter(f"The confidence is {confidence:g}; it must lie between 0.5 and 1, such as 0.95.")
    positive_integer(**{name: n for name, n in (("trials", trials), ("canaries", canaries)) if n is not None})
    if trials is not None and trials < FEWEST_RUNS // 10:
        raise InvalidParameter(
            f"There are {trials} trials; an attack is tuned on some, so take {FEWEST_RUNS // 10}."
        )
    coins = SystemCoins() if coins is None else coins
    set_up, rng = SetUp.read(run), np.random.default_rng(seed)
    each = 1 - (1 - confidence) / ATTACKS
    beyond = MARGIN * set_up.claim.epsilon
    n_canaries = canaries or min(MOST_CANARIES, max(FEWEST_CANARIES, guesses_needed(beyond, each)))
    n_runs = trials or min(MOST_RUNS, max(FEWEST_RUNS, runs_needed(beyond, each)))
    with progress("Setting the scene", 1):
        real, control = _scenes(set_up, rng, n_canaries, rows)
    games: tuple[Callable[[Scene], list[Attacked]], ...] = (
        lambda scene: [_canaries(scene, set_up.claim, each, rng, coins, n_canaries, progress)],
        lambda scene: _membership(scene, set_up, each, coins, n_runs, progress),
    )
    found: list[Attacked] = []
    for game in games:
        for _ in range(TIMES):
            attacked = game(real)
            if all(one.epsilon_at_least <= set_up.claim.epsilon for one in attacked):
                break
        found.extend(one.judged(set_up.claim, control=False) for one in attacked)
    for game in games:
        found.extend(one.judged(set_up.claim, control=True) for one in game(control))
    return Rehearsed(
        set_up.way, real.mechanism, set_up.claim, set_up.promise, confidence, real.student, tuple(found)
    )


def _scenes(set_up: SetUp, rng: np.random.Generator, n_canaries: int, rows: Path | None) -> tuple[Scene, Scene]:
    if set_up.way == "cells":
        from mapl.audit.runs.cells_scene import cells_scenes

        return cells_scenes(set_up, rng, n_canaries, rows)
    from mapl.audit.runs.teachers_scene import teachers_scenes

    return teachers_scenes(set_up, rng, n_canaries, rows)


def _canaries(
    scene: Scene,
    claim: Budget,
    confidence: float,
    rng: np.random.Generator,
    coins: Coins,
    wanted: int,
    progress: ShowProgress,
) -> Attacked:
    """Toss a coin for every canary, run, guess; where a run has room for too few of them, run again."""
    n_runs = -(-wanted // scene.n_canaries)
    right = 0
    with progress("Guessing about canaries", n_runs) as done:
        for number in range(n_runs):
            present = rng.random(scene.n_canaries) < 0.5
            right += int((scene.run_with_canaries(present, coins) == present).sum())
            if done is not None:
                done(number + 1)
    guesses = n_runs * scene.n_canaries
    bound, most = (
        epsilon_from_guesses(hits, guesses, claim.delta, confidence, canaries=guesses) for hits in (right, guesses)
    )
    return Attacked(CANARIES, scene.seen_of_canaries, n_runs, guesses, right, bound, most)


def _membership(
    scene: Scene, set_up: SetUp, confidence: float, coins: Coins, n_runs: int, progress: ShowProgress
) -> list[Attacked]:
    """Run with the target and without, again and again, and tell the one from the other by codes alone."""
    n_codes = len(set_up.classes) - NOTHING
    seen: dict[str, dict[bool, list[Any]]] = {}
    with progress("Guessing about membership", 2 * n_runs) as done:
        for number in range(2 * n_runs):
            present = number % 2 == 0
            for through, codes in scene.run_with_target(present, coins).items():
                counted = np.bincount(np.asarray(codes, dtype=np.int64) - NOTHING, minlength=n_codes)
                seen.setdefault(through, {True: [], False: []})[present].append(counted)
            if done is not None:
                done(number + 1)
    found = []
    for through, sides in seen.items():
        judged = guess_membership(np.array(sides[True]), np.array(sides[False]), set_up.claim.delta, confidence)
        found.append(
            Attacked(MEMBERSHIP, through, 2 * n_runs, judged.guesses, judged.right, judged.epsilon, judged.most)
        )
    return found
