"""The scikit-learn face: PrivateClassifier learns a model that may be published, PrivateOracle answers online.

PrivateRegressor learns a number of a declared range.
PrivatePredictor and StableClassifier answer from a hidden model without public rows, SemiPrivateClassifier releases
one rule. ``predict`` is free; ``answer`` spends. A ledger that is handed over cannot be copied, and a clone
without one refuses to be fitted: cross-validation and grid search fail loudly instead of spending again and again.
"""

from mapl.estimators.classifier import PrivateClassifier
from mapl.estimators.multi_label import PrivateMultiLabelClassifier
from mapl.estimators.oracle import PrivateOracle
from mapl.estimators.regressor import PrivateRegressor
from mapl.estimators.single.predictor import PrivatePredictor
from mapl.estimators.single.semi_private import SemiPrivateClassifier
from mapl.estimators.single.stable import StableClassifier
from mapl.estimators.soft import PrivateSoftClassifier

__all__ = [
    "PrivateClassifier",
    "PrivateMultiLabelClassifier",
    "PrivateOracle",
    "PrivatePredictor",
    "PrivateRegressor",
    "PrivateSoftClassifier",
    "SemiPrivateClassifier",
    "StableClassifier",
]
