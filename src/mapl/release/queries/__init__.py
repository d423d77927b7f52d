"""Stable queries: anything that brings a value and its distance to instability."""
