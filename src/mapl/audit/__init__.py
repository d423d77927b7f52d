"""Exact checkers: an adversary who knows everything but the coins, against what a mechanism claims."""

from mapl.audit.examine import audit
from mapl.audit.finding import Finding, Verdict

__all__ = ["Finding", "Verdict", "audit"]
