"""Processes in which teachers are trained."""
