"""Teachers of one family, trained many at a time: each still learns from its own shard alone, bit for bit."""
