"""Hypotheses on one feature: thresholds, intervals, unions, stumps."""
