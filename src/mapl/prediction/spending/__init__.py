"""Answers within a plan and a ledger, and what is promised of them."""
