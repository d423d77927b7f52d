"""Which rules of a class a predictor draws from, given a few records."""
