"""The scikit-learn face: PrivateClassifier learns a model that may be published, PrivateOracle answers online.

``predict`` is free; ``answer`` spends. A ledger that is handed over cannot be copied, so `clone`, cross-validation
and grid search with one fail loudly instead of spending it again and again.
"""

from mapl.estimators.classifier import PrivateClassifier
from mapl.estimators.oracle import PrivateOracle

__all__ = ["PrivateClassifier", "PrivateOracle"]
