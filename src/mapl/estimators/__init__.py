"""The scikit-learn face: PrivateClassifier learns a model that may be published, PrivateOracle answers online.

PrivatePredictor and StableClassifier answer from a hidden model without public rows, SemiPrivateClassifier releases
one rule. ``predict`` is free; ``answer`` spends. A ledger that is handed over cannot be copied, so `clone`,
cross-validation and grid search with one fail loudly instead of spending it again and again.
"""

from mapl.estimators.classifier import PrivateClassifier
from mapl.estimators.multi_label import MultiLabelPrivateClassifier
from mapl.estimators.oracle import PrivateOracle
from mapl.estimators.predictor import PrivatePredictor
from mapl.estimators.semi_private import SemiPrivateClassifier
from mapl.estimators.soft import PrivateSoftClassifier
from mapl.estimators.stable import StableClassifier

__all__ = [
    "MultiLabelPrivateClassifier",
    "PrivateClassifier",
    "PrivateOracle",
    "PrivatePredictor",
    "PrivateSoftClassifier",
    "SemiPrivateClassifier",
    "StableClassifier",
]
