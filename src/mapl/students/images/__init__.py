"""Students for images: a kernel, one beside a linear model, and a small network."""
