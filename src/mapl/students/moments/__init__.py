"""Students of moments: a linear model that public rows and noisy sums determine."""
