"""Votes: their shards, their plans, and labels released from them."""
