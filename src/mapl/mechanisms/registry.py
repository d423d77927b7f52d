"""The mechanisms by name. The meaning of a name never changes; new behaviour gets a new name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from mapl.errors import InvalidParameter
from mapl.mechanisms.mechanism import AnyMechanism, Task
from mapl.mechanisms.papers.btt18 import BTT18
from mapl.mechanisms.papers.lzcw21_gaussian import LZCW21Gaussian
from mapl.mechanisms.papers.lzcw21_sparse import LZCW21Sparse
from mapl.mechanisms.papers.stable_once import StableOnce
from mapl.mechanisms.single.exponential_vote import ExponentialVote
from mapl.mechanisms.single.gibbs_flip import GibbsFlip
from mapl.mechanisms.single.laplace_max import LaplaceMax
from mapl.mechanisms.single.permute_and_flip import PermuteAndFlip
from mapl.mechanisms.stable_queries import StableQueries
from mapl.mechanisms.votes.confident_max import ConfidentMax
from mapl.mechanisms.votes.ladder import Ladder
from mapl.mechanisms.votes.ladder_then_link import LadderThenLink
from mapl.mechanisms.votes.ladder_then_max import LadderThenMax
from mapl.mechanisms.votes.lattice_link import LinkByClasses
from mapl.mechanisms.votes.majority import Majority
from mapl.mechanisms.votes.noisy_max import NoisyMax
from mapl.mechanisms.votes.threshold_ladder import ThresholdLadder
from mapl.misspelled_names import did_you_mean

MechanismKind = Literal["release", "paper", "single", "none"]


@dataclass(frozen=True, slots=True)
class Registered:
    """A registered mechanism: its class, the class counts it takes, what it is for."""

    mechanism: Any
    classes: tuple[int, ...] | None
    """Allowed numbers of classes, or None for any."""
    kind: MechanismKind
    summary: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings that the mechanism's calibration takes."""
        signature = inspect.signature(self.mechanism.for_task)
        return tuple(p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY)


REGISTRY: dict[str, Registered] = {
    "ladder": Registered(Ladder, None, "release", "exact winner or abstention; pays only for abstentions"),
    "threshold-ladder": Registered(
        ThresholdLadder, None, "release", "ladder over a secret threshold; for few abstentions"
    ),
    "ladder-then-max": Registered(
        LadderThenMax, None, "release", "ladder first, noisy max answers its abstentions"
    ),
    "ladder-then-link": Registered(
        LadderThenLink, (2,), "release", "ladder first, the link answers its abstentions"
    ),
    "noisy-max": Registered(NoisyMax, None, "release", "answers everything: argmax of counts with Gaussian noise"),
    "link": Registered(LinkByClasses, (2, 3), "release", "answers everything by a coin biased by the lead"),
    "confident-max": Registered(ConfidentMax, None, "release", "one-bit consensus test, then noisy max"),
    "stable-once": Registered(
        StableOnce, None, "paper", "BTT18 Algorithm 1: one question, exact winner or abstention"
    ),
    "btt18": Registered(BTT18, None, "paper", "BTT18 Algorithm 2: sparse vector, printed constants, T+1 epochs"),
    "lzcw21-sparse": Registered(
        LZCW21Sparse, None, "paper", "LZCW21 Algorithm 2: sparse vector, printed constants"
    ),
    "lzcw21-gaussian": Registered(
        LZCW21Gaussian, None, "paper", "LZCW21 Algorithm 1: Gaussian noise, closed-form price"
    ),
    "stable-queries": Registered(
        StableQueries, None, "paper", "online release of any stable query, corrected constants"
    ),
    "exponential-vote": Registered(
        ExponentialVote, None, "single", "exponential mechanism; bounded-range composition"
    ),
    "permute-and-flip": Registered(PermuteAndFlip, None, "single", "permute and flip; best single pure answer"),
    "laplace-max": Registered(LaplaceMax, None, "single", "noisy max with discrete Laplace noise"),
    "gibbs-flip": Registered(GibbsFlip, None, "single", "a random teacher's vote, flipped now and then"),
    "majority": Registered(Majority, None, "none", "exact plurality; no privacy, costs infinity"),
}


def entry(name: str) -> Registered:
    """Look a mechanism up by name."""
    if name not in REGISTRY:
        raise InvalidParameter(
            f"There is no mechanism {name!r}. Choose one of: {', '.join(REGISTRY)}.{did_you_mean(name, REGISTRY)}"
        )
    return REGISTRY[name]


def make(name: str, task: Task, **settings: Any) -> AnyMechanism:
    """Calibrate a mechanism for a task; settings that are None are left to the mechanism."""
    found = entry(name)
    if found.classes is not None and task.n_classes not in found.classes:
        allowed = " or ".join(map(str, found.classes))
        raise InvalidParameter(
            f"{name} works for {allowed} classes and the votes have {task.n_classes}; "
            "use noisy-max (answers everything) or ladder (may abstain) instead."
        )
    given = {k: v for k, v in settings.items() if v is not None}
    unknown = sorted(set(given) - set(found.settings))
    if unknown:
        raise InvalidParameter(
            f"{name} has no setting {', '.join(unknown)}; it takes: {', '.join(found.settings) or 'none'}."
        )
    missing = [
        p.name
        for p in inspect.signature(found.mechanism.for_task).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in given
    ]
    if missing:
        raise InvalidParameter(f"{name} needs the setting {', '.join(missing)}.")
    return _calibrate(_Asked(repr((task, sorted(given.items()))), found.mechanism, task, given))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a mechanism is calibrated for, as it is spelled: 1 and 1.0 are equal, but print otherwise.

    What was asked before in this process must not show in public files.
    """

    spelled: str
    mechanism: Any
    task: Task = field(compare=False)
    settings: dict[str, Any] = field(compare=False)


@lru_cache(maxsize=64)
def _calibrate(asked: _Asked) -> AnyMechanism:
    """Calibrate a mechanism, kept for the next time: it is a value, and a function of public facts."""
    mechanism: AnyMechanism = asked.mechanism.for_task(asked.task, **asked.settings)
    _lock(mechanism)
    return mechanism


def _lock(part: Any) -> None:
    """Make tables read-only: whoever asks for the same mechanism is given the same ones."""
    if isinstance(part, np.ndarray):
        part.setflags(write=False)
    elif is_dataclass(part):
        for one in fields(part):
            _lock(getattr(part, one.name))
