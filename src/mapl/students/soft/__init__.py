"""Students of soft labels, which predict probabilities."""
