"""From scores to probabilities: a slope and an offset for each class, found by what was released anyway."""
