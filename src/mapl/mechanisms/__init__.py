"""One small file per algorithm: what it does, what it guarantees, what it costs; a registry of names."""

from mapl.mechanisms.mechanism import AnyMechanism, Mechanism, Task
from mapl.mechanisms.registry import REGISTRY, entry, make

__all__ = ["REGISTRY", "AnyMechanism", "Mechanism", "Task", "entry", "make"]
