"""From a private table to noisy sums: the public map, the plan, the rounds."""
