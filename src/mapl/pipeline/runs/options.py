"""The options of a run as its settings.json tells them, so that a further run can be asked for by them.

Names of local files are not among them, nor are seeds: what decides about noise is never read from public files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mapl.data.tables.label_values import write_label_values
from mapl.data.units.id_columns import NO_UNIT
from mapl.pipeline.case import Declared
from mapl.pipeline.learners import Learners
from mapl.pipeline.request import Request
from mapl.students.probabilities.aim import write_class_weight
from mapl.students.strategies.imputed import Imputed
from mapl.students.strategies.voting import Voting

OPTIONS = "options"
"""Where settings.json holds them."""


def options_of_learning(
    request: Request, learners: Learners, declared: Declared, groups: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the options of ``mapl learn`` that ask for a run; None for what was left open."""
    active = learners.active
    return {
        **options_of_teaching(request, learners, declared) | {"verb": "learn"},
        "method": request.method,
        "regression": None
        if request.number_range is None
        else [request.number_range.low, request.number_range.high],
        "error_share": request.error_share,
        "cells": "auto" if request.n_cells is None else request.n_cells,
        "partition": request.partition,
        "rounds": request.rounds,
        "per_unit": None if request.unit is None else request.per_unit,
        "metric": request.aim.metric,
        "class_weight": write_class_weight(request.aim.class_weight),
        **learners.names,
        "active": None if active is None else active.choice,
        "label_service": None if active is None else active.service,
        "fill": str(learners.strategy.fill) if isinstance(learners.strategy, Imputed) else None,
        "voters": learners.strategy.n_voters if isinstance(learners.strategy, Voting) else None,
        "group": list(groups),
    }


def options_of_teaching(request: Request, learners: Learners, declared: Declared) -> dict[str, Any]:
    """Return the options of ``mapl teach`` that ask for a run; None for what was left open."""
    agreement = request.agreement
    return {
        "verb": "teach",
        "label": list(declared.labels) if declared.further else declared.label,
        "epsilon": float(request.budget.epsilon),
        "delta": float(request.budget.delta),
        "unit": NO_UNIT if declared.no_unit else declared.unit,
        "classes": list(request.classes.names) if request.number_range is None else None,
        "label_values": write_label_values(declared.classes.values),
        "drop": list(declared.choices.drop),
        "categories": list(declared.choices.categories),
        "learner": learners.teacher_name,
        "time_limit": "none" if learners.time_limit is None else learners.time_limit,
        "teachers": "auto" if request.n_teachers is None else request.n_teachers,
        "rows": request.n_rows,
        "adjacency": request.adjacency,
        "mechanism": request.mechanism,
        "may_abstain": request.may_abstain,
        "max_abstentions": request.settings.get("max_abstentions"),
        "agreement": None if agreement is None else [list(group) for group in agreement.groups],
        "queries": request.n_queries,
    }
