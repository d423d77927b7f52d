"""Predictors: a hidden sample, one bit per question, a promise about each bit."""
