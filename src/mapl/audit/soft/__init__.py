"""An exact adversary against soft labels, and broken twins."""
