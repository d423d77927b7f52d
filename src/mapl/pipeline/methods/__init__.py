"""The ways from a private table to a student: plan, release, train."""
