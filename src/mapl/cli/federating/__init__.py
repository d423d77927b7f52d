"""Verbs for sites that may not pool their tables."""
