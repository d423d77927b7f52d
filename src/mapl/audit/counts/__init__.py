"""An exact adversary against counts of cells, and broken twins."""
