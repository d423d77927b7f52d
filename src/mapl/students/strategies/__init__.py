"""The ways to turn released labels into a student."""
