"""Estimators that answer single questions by a hidden rule."""
