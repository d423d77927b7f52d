"""What all faces share: a fit that would spend by surprise is refused or told of before it spends."""

from __future__ import annotations

from typing import Self

from sklearn.base import BaseEstimator

from mapl.errors import GuaranteeBroken
from mapl.estimators.guard.earlier_fits import EarlierFits, Fit, warn_of_sum
from mapl.estimators.guard.pooled_steps import refuse_pooled_steps

FITS = EarlierFits()
"""The fits of this process. Seeded ones are not among them: they promise nothing, and so spend nothing."""


class Guarded(BaseEstimator):  # type: ignore[misc]
    """An estimator that knows whether it was cloned, and what was spent in this process."""

    spends = True
    """Whether fits have a budget that adds up."""

    def _refuse_surprise(self) -> None:
        """Refuse a fit that whoever wrote the call did not ask for, or whose promise is void already."""
        if self.seed is not None:
            return
        if self.spends and self.ledger is None and getattr(self, "_is_clone", False):
            raise GuaranteeBroken(
                f"This {type(self).__name__} is a clone, as cross-validation, grid search and meta-estimators make "
                "them: each would spend the whole budget on the same people, once per fold and setting. "
                "Nothing was spent. Tune on public rows, or let one budget choose privately: "
                'PrivateClassifier(method="select:teachers/ridge,teachers/hgb,cells"). To fit this one all the '
                "same, give it a ledger of its own: set_params(ledger=mapl.SqliteLedger(path))."
            )
        refuse_pooled_steps(self, features_are_public=self.adjacency == "labels")

    def _told_of_sum(self, fit: Fit) -> None:
        """Remember what this fit may spend, and warn of what it adds up to, unless a ledger keeps books."""
        if self.seed is not None:
            return
        if self.ledger is None:
            warn_of_sum(FITS.so_far(), fit)
        FITS.add(fit)

    def __sklearn_clone__(self) -> Self:
        copied: Self = super().__sklearn_clone__()
        copied._is_clone = True
        return copied
