"""Whose a row is, which teacher sees it, and which record counts."""
