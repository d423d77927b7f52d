"""Model-agnostic private learning: teachers vote, and only what differential privacy allows is released.

Names are imported when they are first used, so that ``import mapl`` itself does nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "ABSTAIN": "mapl.types",
    "Agreement": "mapl.planning",
    "Budget": "mapl.types",
    "Client": "mapl.service.client",
    "Loss": "mapl.accounting",
    "MaplError": "mapl.errors",
    "MultiLabelPrivateClassifier": "mapl.estimators",
    "PrivateClassifier": "mapl.estimators",
    "PrivateOracle": "mapl.estimators",
    "PrivatePredictor": "mapl.estimators",
    "PrivateSoftClassifier": "mapl.estimators",
    "Released": "mapl.release",
    "SeededCoins": "mapl.noise",
    "SemiPrivateClassifier": "mapl.estimators",
    "SqliteLedger": "mapl.release.sqlite_ledger",
    "StableAnswers": "mapl.types",
    "StableClassifier": "mapl.estimators",
    "StableOracle": "mapl.release",
    "Statement": "mapl.release",
    "SystemCoins": "mapl.noise",
    "Tallies": "mapl.types",
    "Task": "mapl.mechanisms",
    "admit": "mapl.release",
    "aggregate": "mapl.release",
    "choose": "mapl.planning",
    "make": "mapl.mechanisms",
    "statement_of": "mapl.release",
}

__all__ = [*sorted(_HOMES), "__version__"]

if TYPE_CHECKING:
    from mapl.accounting import Loss as Loss
    from mapl.errors import MaplError as MaplError
    from mapl.estimators import MultiLabelPrivateClassifier as MultiLabelPrivateClassifier
    from mapl.estimators import PrivateClassifier as PrivateClassifier
    from mapl.estimators import PrivateOracle as PrivateOracle
    from mapl.estimators import PrivatePredictor as PrivatePredictor
    from mapl.estimators import PrivateSoftClassifier as PrivateSoftClassifier
    from mapl.estimators import SemiPrivateClassifier as SemiPrivateClassifier
    from mapl.estimators import StableClassifier as StableClassifier
    from mapl.mechanisms import Task as Task
    from mapl.mechanisms import make as make
    from mapl.noise import SeededCoins as SeededCoins
    from mapl.noise import SystemCoins as SystemCoins
    from mapl.planning import Agreement as Agreement
    from mapl.planning import choose as choose
    from mapl.release import Released as Released
    from mapl.release import StableOracle as StableOracle
    from mapl.release import Statement as Statement
    from mapl.release import admit as admit
    from mapl.release import aggregate as aggregate
    from mapl.release import statement_of as statement_of
    from mapl.release.sqlite_ledger import SqliteLedger as SqliteLedger
    from mapl.service.client import Client as Client
    from mapl.types import ABSTAIN as ABSTAIN
    from mapl.types import Budget as Budget
    from mapl.types import StableAnswers as StableAnswers
    from mapl.types import Tallies as Tallies


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mapl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
