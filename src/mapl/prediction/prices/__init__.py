"""What an answer costs and what it is worth, before a private row is read."""
