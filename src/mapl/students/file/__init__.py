"""A student as a file that is safe to open, and its card."""
