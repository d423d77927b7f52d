"""Verbs from a private table to a student: look at it, learn, predict, report."""
