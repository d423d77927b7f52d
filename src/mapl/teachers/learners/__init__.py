"""Anything that learns from rows and labels and then votes."""
