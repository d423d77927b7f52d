"""The table of a calibrated ladder as a file in the private half of a run, so that no server searches for it again.

Nothing in it is believed: order, price and limit come from the plan, whose digest the private half knows, and the
integers that decide must pass the exact certificate once more. What does not pass is searched for again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from mapl.mechanisms import AnyMechanism
from mapl.mechanisms.tables.rungs import Rungs
from mapl.mechanisms.votes.ladder import Ladder
from mapl.mechanisms.votes.threshold_ladder import ThresholdLadder
from mapl.noise import ONE
from mapl.planning.plan import Plan, Stage

FORMAT = "mapl table 1"


def table_bytes(plan: Plan, mechanism: AnyMechanism) -> bytes | None:
    """Return the table that a mechanism decides by, None for one that is calibrated each time."""
    if not isinstance(mechanism, Ladder | ThresholdLadder):
        return None
    content = {"format": FORMAT, "plan": plan.digest, "numerators": mechanism.rungs.numerators.tolist()}
    return json.dumps(content).encode() + b"\n"


def read_ladder(path: Path, plan: Plan, stage: Stage) -> AnyMechanism | None:
    """Return the ladder of a plan's stage, None without a file that holds its certified table."""
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT or content["plan"] != plan.digest:
            return None
        numerators = np.array(content["numerators"])
        if numerators.dtype != np.int64 or numerators.ndim != 1 or not numerators.size:
            return None
        made = _ladder(stage.mechanism, Rungs(numerators), stage.parameters)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    if made is None or dict(made.parameters) != dict(stage.parameters):
        return None
    within = numerators.min() >= 0 and numerators.max() <= ONE
    return made if within and made.certify(stage.budget) else None


def _ladder(name: str, rungs: Rungs, said: Any) -> Ladder | ThresholdLadder | None:
    limit, order, price = (said[one] for one in ("max_abstentions", "order", "price_per_abstention"))
    match name:
        case Ladder.name:
            return Ladder(rungs, limit, order, price)
        case ThresholdLadder.name:
            return ThresholdLadder(rungs, limit, said["sigma_threshold"], said["centre"], order, price)
    return None
