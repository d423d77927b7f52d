"""An exact adversary against noisy sums of what units contribute, and broken twins."""
