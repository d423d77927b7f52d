"""Model-agnostic private learning: teachers vote, and only what differential privacy allows is released."""

__version__ = "0.1.0"
