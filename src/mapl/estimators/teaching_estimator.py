"""What the faces of classes share: which classes, how many teachers, and how what they say is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mapl.estimators.private_estimator import PrivateEstimator
from mapl.pipeline.learners import TIME_LIMIT, Learners
from mapl.planning import Agreement


@dataclass(eq=False, repr=False, kw_only=True)
class TeachingEstimator(PrivateEstimator):
    """An estimator of declared classes that may train teachers."""

    classes: Any = None
    label_values: Any = None
    n_teachers: int | str = "auto"
    mechanism: str = "auto"
    settings: dict[str, Any] | None = None
    n_queries: int | None = None
    time_limit: float | None = TIME_LIMIT
    n_jobs: int = -1

    def _learners(self, strategy: Any = "auto") -> Learners:
        student = getattr(self, "student", None)
        return Learners(self.learner, student, strategy, self.time_limit, self.n_jobs, self.engine)

    def _more_settings(self) -> dict[str, Any]:
        agreement = getattr(self, "agreement", None)
        return {
            "n_teachers": None if self.n_teachers == "auto" else self.n_teachers,
            "mechanism": self.mechanism,
            "settings": self.settings or {},
            "n_queries": self.n_queries,
            "agreement": Agreement.parse(agreement) if isinstance(agreement, str) else agreement,
            "may_abstain": getattr(self, "may_abstain", False),
        }
