"""Ledgers: what was spent, in a chain of sealed entries, in memory, SQLite or PostgreSQL."""
