"""Model-agnostic private learning: teachers vote, and only what differential privacy allows is released.

Names are imported when they are first used, so that ``import mapl`` itself does nothing.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mapl.late_names import homes_of

__version__ = "0.2.0"

_HOMES = homes_of(
    {
        "mapl.accounting": "Loss",
        "mapl.errors": "BudgetExhausted CannotCalibrate EntropyFailure GuaranteeBroken InvalidData "
        "InvalidParameter LedgerError LedgerRolledBack LedgerTampered MaplError PlanMismatch "
        "PrivacyWarning ServiceError",
        "mapl.estimators": "PrivateClassifier PrivateMultiLabelClassifier PrivateOracle PrivatePredictor "
        "PrivateRegressor PrivateSoftClassifier SemiPrivateClassifier StableClassifier",
        "mapl.estimators.check_labels": "check_labels",
        "mapl.estimators.guard.people": "people",
        "mapl.mechanisms": "Task make_mechanism",
        "mapl.noise": "SeededCoins SystemCoins",
        "mapl.planning": "Agreement choose_mechanism",
        "mapl.release": "Released StableOracle Statement admit_mechanism aggregate statement_of",
        "mapl.release.ledger.sqlite": "SqliteLedger",
        "mapl.service.client": "Client",
        "mapl.types": "ABSTAIN Budget StableAnswers Tallies",
    }
)

_SHORT = {"admit_mechanism": "admit", "choose_mechanism": "choose", "make_mechanism": "make"}
"""What is called by a shorter name at home, where it is clear what is meant."""

_FORMER = {short: today for today, short in _SHORT.items()}
_FORMER |= {"MultiLabelPrivateClassifier": "PrivateMultiLabelClassifier"}
"""What public names of before 0.2 are called now."""

__all__ = [*sorted(_HOMES), "__version__"]

if TYPE_CHECKING:
    from mapl.accounting import Loss as Loss
    from mapl.errors import BudgetExhausted as BudgetExhausted
    from mapl.errors import CannotCalibrate as CannotCalibrate
    from mapl.errors import EntropyFailure as EntropyFailure
    from mapl.errors import GuaranteeBroken as GuaranteeBroken
    from mapl.errors import InvalidData as InvalidData
    from mapl.errors import InvalidParameter as InvalidParameter
    from mapl.errors import LedgerError as LedgerError
    from mapl.errors import LedgerRolledBack as LedgerRolledBack
    from mapl.errors import LedgerTampered as LedgerTampered
    from mapl.errors import MaplError as MaplError
    from mapl.errors import PlanMismatch as PlanMismatch
    from mapl.errors import PrivacyWarning as PrivacyWarning
    from mapl.errors import ServiceError as ServiceError
    from mapl.estimators import PrivateClassifier as PrivateClassifier
    from mapl.estimators import PrivateMultiLabelClassifier as PrivateMultiLabelClassifier
    from mapl.estimators import PrivateOracle as PrivateOracle
    from mapl.estimators import PrivatePredictor as PrivatePredictor
    from mapl.estimators import PrivateRegressor as PrivateRegressor
    from mapl.estimators import PrivateSoftClassifier as PrivateSoftClassifier
    from mapl.estimators import SemiPrivateClassifier as SemiPrivateClassifier
    from mapl.estimators import StableClassifier as StableClassifier
    from mapl.estimators.check_labels import check_labels as check_labels
    from mapl.estimators.guard.people import people as people
    from mapl.mechanisms import Task as Task
    from mapl.mechanisms import make as _make
    from mapl.noise import SeededCoins as SeededCoins
    from mapl.noise import SystemCoins as SystemCoins
    from mapl.planning import Agreement as Agreement
    from mapl.planning import choose as _choose
    from mapl.release import Released as Released
    from mapl.release import StableOracle as StableOracle
    from mapl.release import Statement as Statement
    from mapl.release import admit as _admit
    from mapl.release import aggregate as aggregate
    from mapl.release import statement_of as statement_of
    from mapl.release.ledger.sqlite import SqliteLedger as SqliteLedger
    from mapl.service.client import Client as Client
    from mapl.types import ABSTAIN as ABSTAIN
    from mapl.types import Budget as Budget
    from mapl.types import StableAnswers as StableAnswers
    from mapl.types import Tallies as Tallies

    admit_mechanism, choose_mechanism, make_mechanism = _admit, _choose, _make


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        warnings.warn(f"mapl.{name} is called mapl.{_FORMER[name]} now.", DeprecationWarning, stacklevel=2)
        name = _FORMER[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'mapl' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), _SHORT.get(name, name))


def __dir__() -> list[str]:
    return __all__
