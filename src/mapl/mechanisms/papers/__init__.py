"""The papers' own algorithms, with the constants that they print."""
