"""Short public vectors of private rows, and what every unit adds to their sums: all in exact arithmetic."""
