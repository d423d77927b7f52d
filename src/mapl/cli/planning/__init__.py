"""Verbs that read no private row: plans, margins, bounds, mechanisms."""
