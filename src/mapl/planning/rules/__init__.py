"""Rules that choose for the user, from public facts alone."""
