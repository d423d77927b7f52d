"""Everything that learns from released labels and public rows only."""
