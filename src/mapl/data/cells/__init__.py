"""Public partitions of feature space."""
