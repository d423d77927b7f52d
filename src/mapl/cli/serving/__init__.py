"""Verbs of a server: teach, serve, its keys and its ledger."""
