"""Votes in, labels out, and how a file is written once or not at all."""
