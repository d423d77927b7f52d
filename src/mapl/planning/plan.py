"""A plan: what a run may release and what that may cost, fixed before a private row is read."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from mapl.errors import GuaranteeBroken, InvalidData, InvalidParameter
from mapl.planning.budgets.several_runs import ContinuedBudget
from mapl.types import Budget, positive_integer

SCHEMA = 1
Value = int | float | str | bool | None

ROUNDING = 1e-12
"""How far, relatively, the stages may exceed the budget by: parts of a float rarely add up to it exactly."""

EVERYBODY = "all"
"""The units that a stage is about unless it says otherwise."""


class PlainValues(Mapping[str, Value]):
    """Named plain values that never change, so that a plan can be compared, hashed and stored."""

    __slots__ = ("_pairs",)

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._pairs = tuple(sorted((str(name), _value(str(name), value)) for name, value in given.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return PlainValues, (dict(self),)  # skops calls a type with what it was made of, and knows no slots

    def __getitem__(self, name: str) -> Value:
        return dict(self._pairs)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return repr(dict(self._pairs))


@dataclass(frozen=True, slots=True)
class Condition:
    """That an earlier stage released a certain number: a ledger begins a stage only if its condition is met."""

    stage: str
    released: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One mechanism of a run and its share of the budget.

    ``parameters`` may leave open what a public function of an earlier stage's release will set; the budget may not.
    ``units`` names the part of the units that it is about; parts of different names are disjoint. Of stages that
    wait for different numbers of one stage (``only_if``), those of one number are carried out and no others.
    """

    name: str
    mechanism: str
    parameters: Mapping[str, Value]
    budget: Budget
    units: str = EVERYBODY
    only_if: Condition | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", PlainValues(self.parameters))


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that fixes a run's promise: JSON both ways, and a digest that every ledger carries.

    Examples
    --------
    >>> half = Budget(0.5, 0.0)
    >>> stages = (Stage("error", "error-estimate", {}, half), Stage("labels", "ladder", {}, half))
    >>> plan = Plan(("no", "yes"), 250, "add-remove", "patient_id", 1000, Budget(1, 1e-6), stages, "as asked")
    >>> Plan.from_json(plan.to_json()) == plan
    True
    >>> len(plan.digest)
    64
    """

    classes: tuple[str, ...]
    n_teachers: int
    adjacency: str
    unit: str
    n_queries: int
    budget: Budget
    stages: tuple[Stage, ...]
    why: str
    together: ContinuedBudget | None = None
    """The earlier runs that this one goes on from, and what was allowed for all of them; None for a run alone."""

    def __post_init__(self) -> None:
        positive_integer(n_queries=self.n_queries)
        if self.n_teachers:  # a run that counts in cells has none
            positive_integer(n_teachers=self.n_teachers)
        if len(set(self.classes)) < len(self.classes) or len(self.classes) < 2:
            raise InvalidParameter("A plan needs at least two classes with different names; declare each one once.")
        names = [stage.name for stage in self.stages]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter("A plan needs at least one stage, and every stage a name of its own.")
        ways = ways_through(self.stages)
        epsilon = max(add_over_parts((stage.units, stage.budget.epsilon) for stage in way) for way in ways)
        delta = max(add_over_parts((stage.units, stage.budget.delta) for stage in way) for way in ways)
        if epsilon > self.budget.epsilon * (1 + ROUNDING) or delta > self.budget.delta * (1 + ROUNDING):
            raise GuaranteeBroken(
                f"The stages of the plan add up to epsilon {epsilon:.6g} and delta {delta:.6g}; allowed are "
                f"{self.budget.epsilon:g} and {self.budget.delta:g} (adjacency: {self.adjacency}; unit: "
                f"{self.unit}). Give the stages smaller shares."
            )
        if self.together is not None:
            self.together.admit(self.budget, adjacency=self.adjacency, unit=self.unit)

    def stage(self, name: str) -> Stage:
        """Return the stage of that name."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise InvalidParameter(f"The plan has no stage {name!r}; it has {', '.join(s.name for s in self.stages)}.")

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan's canonical JSON, in hexadecimal."""
        return hashlib.sha256(canonical(self._content()).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the plan as JSON text for people; `from_json` gives the same plan back."""
        return json.dumps(plain(self._content()), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan that `to_json` wrote, and refuse anything else."""
        try:
            given = json.loads(text)
            schema = given.pop("schema")
            if schema != SCHEMA:
                raise InvalidData(
                    f"The plan has schema {schema}; this mapl reads {SCHEMA}. Use the mapl that wrote it."
                )
            stages = tuple(
                Stage(
                    s["name"],
                    s["mechanism"],
                    s["parameters"],
                    _budget(s["budget"]),
                    s.get("units", EVERYBODY),
                    None if "only_if" not in s else Condition(**s["only_if"]),
                )
                for s in given.pop("stages")
            )
            budget, classes = _budget(given.pop("budget")), tuple(given.pop("classes"))
            before = given.pop("together", None)
            together = None if before is None else ContinuedBudget.of(before)
            return cls(budget=budget, stages=stages, classes=classes, together=together, **given)
        except (ValueError, KeyError, TypeError, AttributeError) as failure:
            if isinstance(failure, (InvalidData, InvalidParameter)):
                raise
            raise InvalidData("The text is no plan that mapl wrote; make the plan again.") from None

    def _content(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "classes": list(self.classes),
            "n_teachers": int(self.n_teachers),
            "adjacency": self.adjacency,
            "unit": self.unit,
            "n_queries": int(self.n_queries),
            "budget": _numbers(self.budget),
            "stages": [
                {
                    "name": stage.name,
                    "mechanism": stage.mechanism,
                    "parameters": dict(stage.parameters),
                    "budget": _numbers(stage.budget),
                    # A plan without parts is written, and hashed, as it was before there were any.
                    **({} if stage.units == EVERYBODY else {"units": stage.units}),
                    **({} if stage.only_if is None else {"only_if": asdict(stage.only_if)}),
                }
                for stage in self.stages
            ],
            "why": self.why,
            **({} if self.together is None else {"together": self.together.to_dict()}),
        }


def ways_through(stages: Sequence[Stage]) -> list[list[Stage]]:
    """Return the stages that a run may carry out, for every number that its conditions wait for.

    Conditions wait for one stage, which stands before them and waits for nothing itself, so that a ledger can see
    to it that they are met.
    """
    waiting = dict.fromkeys(stage.only_if for stage in stages if stage.only_if is not None)
    first = next((place for place, stage in enumerate(stages) if stage.only_if is not None), 0)
    known = {stage.name for stage in stages[:first]}
    if len({one.stage for one in waiting}) > 1 or any(one.stage not in known for one in waiting):
        raise InvalidParameter("Stages with a condition must wait for one stage of the plan that is before them.")
    return [[stage for stage in stages if stage.only_if in (None, one)] for one in waiting or [None]]


def add_over_parts(costs: Iterable[tuple[str, float]], add: Callable[[list[float]], float] = math.fsum) -> float:
    """Return what stages cost together, given the units that each is about and its cost.

    Nobody is in two parts, so of several parts the dearest counts; what is about all units comes on top of each.

    >>> add_over_parts([("all", 0.5), ("those taught", 1.0), ("those taught", 2.0), ("those set aside", 2.0)])
    3.5
    """
    parts: defaultdict[str, list[float]] = defaultdict(list)
    for units, cost in costs:
        parts[units].append(cost)
    everybody = parts.pop(EVERYBODY, [])
    return max(add([*everybody, *part]) for part in parts.values() or [[]])


ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
"""Made once: `json.dumps` would make it anew for every entry and every request of a ledger."""


def canonical(value: Any) -> str:
    """Write JSON whose text depends on the value alone: sorted keys, no spaces, plain letters."""
    return ENCODE(plain(value))


def plain(value: Any) -> Any:
    """Turn a value into what any JSON parser reads: infinities become text, what is not a number becomes null."""
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "item"):  # a numpy scalar
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _value(name: str, value: Any) -> Value:
    found = value.item() if hasattr(value, "item") else value
    sound = found is None or isinstance(found, (int, float, str))
    if not sound or (isinstance(found, float) and not math.isfinite(found)):
        raise InvalidParameter(
            f"The parameter {name} of a stage is no finite number, text or flag; give one of these."
        )
    plain_value: Value = found
    return plain_value


def _numbers(budget: Budget) -> dict[str, float]:
    # Floats throughout: an epsilon of 2 and one of 2.0 are the same plan.
    return {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}


def _budget(given: Mapping[str, Any]) -> Budget:
    return Budget(float(given["epsilon"]), float(given["delta"]))
