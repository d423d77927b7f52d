"""A finished run as one page that a privacy officer can read."""
