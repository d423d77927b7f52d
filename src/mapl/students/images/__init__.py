"""Students for images: a kernel, and a small network."""
